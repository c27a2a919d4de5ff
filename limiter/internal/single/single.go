// Package single is the seam between a Limiter with one limit and a store that decides single charges in fewer steps
// than its Take.
package single

// Only is an argument of methods that are exported for other packages of this module only: nobody else can write a
// value of its type.
type Only struct{ _ byte }
