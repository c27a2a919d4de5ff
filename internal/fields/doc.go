// Package fields writes the header fields that tell a client where it stands: names and numbers in, field values out.
// It knows the text of each style and nothing of requests, rules or stores.
//
// A [Builder] is asked for the fields of one answer, then for their names and values, then reset for the next answer.
package fields
