// Package growth measures how the cost of a decision grows with keys, rules, threads and limits. It has no rivals in
// it.
package growth
