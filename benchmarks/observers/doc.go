// Package observers measures what an Observer adds to a request: none, promlimit and otellimit beside each other, over
// a store in memory and over Redis.
package observers
