// Package algorithm defines what each [limiter.Algorithm] means: how many units fit, and how long to wait. It is for
// authors of stores. It has no clock and does no I/O.
//
// For each batch a store
//
//  1. answers it by [TakeZero] if a limit of 0 refuses one of its charges, which [AsksZero] reports;
//  2. loads what it keeps of each counter into a [Usage]: [Usage.LoadWindow], [Usage.LoadBucket], [Usage.LoadLog],
//     [Usage.LoadStrict];
//  3. lets [Decide] judge the batch, or [Usage.Judge] if the batch is one charge;
//  4. writes back what has changed: the fields Spent and Returned of each Usage say how much.
//
// Package limitertest checks the result.
package algorithm
