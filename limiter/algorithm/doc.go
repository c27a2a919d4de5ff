// Package algorithm says what each [limiter.Algorithm] means: how many units fit, and how long to wait. It is for the
// authors of stores. It has no clock and no I/O.
//
// A store turns what it keeps of a counter into a [Usage] with [Usage.LoadWindow], [Usage.LoadBucket] or
// [Usage.LoadLog], lets [Decide] judge the batch ([Usage.Judge] for a batch of one charge), and writes back what
// changed. Package limitertest checks the result.
package algorithm
