package storekit

import (
	"context"
	"strings"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

const (
	// defaultTimeout is that of the stores of this project: far above the time that a server in the same network needs,
	// and far below what a visitor notices.
	defaultTimeout = 50 * time.Millisecond

	// mostOutstanding bounds the goroutines that a store which does not return can hold. It is more than a healthy one
	// has under way: at 10,000 calls a second, each may take 25 ms.
	mostOutstanding = 256
)

// WithTimeout returns a store that asks store, and returns within timeout whatever store does: for stores of your own,
// as a [limiter.Store] has to return by itself. 0, and less, means 50 ms. The stores of this project need no such
// wrapper.
//
// A call runs in a goroutine of its own, on a copy of the charges, which is copied back if the call returned in time:
// what a late call does to its charges nobody sees. Take and Reset return
//
//   - what store returns, if it does so in time;
//   - the error of ctx, if ctx ends first;
//   - an error that wraps [context.DeadlineExceeded] after timeout;
//   - at once an [*UnavailableError] that wraps [ErrBusy] while 256 calls have not returned, in time or not;
//   - an error if store panics or ends its goroutine. It does not quote the value of the panic, which may hold a key.
//
// After such an error the units may be spent all the same: a call that has begun goes on. It has a context with the
// values of ctx that ends with the timeout, and not with ctx; a store that heeds it leaves no goroutine behind for
// longer than that. One that never returns holds 256 goroutines, and no more.
//
// The returned store is a [limiter.Checker] and a [limiter.StatsReporter] where store is one. Those are asked directly:
// they ask no server. It has a method Unwrap that returns store.
//
// It costs a goroutine and some allocations a call.
func WithTimeout(store limiter.Store, timeout time.Duration) limiter.Store {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	s := &timedStore{store: store, timeout: timeout, calls: NewCalls(mostOutstanding)}
	checker, checks := store.(limiter.Checker)
	reporter, reports := store.(limiter.StatsReporter)
	switch {
	case checks && reports:
		return struct {
			*timedStore
			limiter.Checker
			limiter.StatsReporter
		}{s, checker, reporter}
	case checks:
		return struct {
			*timedStore
			limiter.Checker
		}{s, checker}
	case reports:
		return struct {
			*timedStore
			limiter.StatsReporter
		}{s, reporter}
	}
	return s
}

// timedStore is a store that WithTimeout returns, but for what it forwards.
type timedStore struct {
	store   limiter.Store
	timeout time.Duration
	calls   *Calls
}

// Unwrap returns the store that is asked.
func (s *timedStore) Unwrap() limiter.Store { return s.store }

// Take implements [limiter.Store].
func (s *timedStore) Take(ctx context.Context, charges []limiter.Charge) (taken bool, err error) {
	own := copyCharges(charges)
	var answer bool // not taken, which is returned with an error while a late call may still write
	err = s.calls.Run(ctx, s.timeout, func(ctx context.Context) (err error) {
		answer, err = s.store.Take(ctx, own)
		return err
	})
	if err != nil {
		return false, err
	}
	for i := range charges {
		c, judged := &charges[i], &own[i]
		c.State, c.Decision, c.Cached = judged.State, judged.Decision, judged.Cached
		c.Local, c.Shared = judged.Local, judged.Shared
	}
	return answer, nil
}

// Reset implements [limiter.Store].
func (s *timedStore) Reset(ctx context.Context, charges []limiter.Charge) error {
	own := copyCharges(charges)
	return s.calls.Run(ctx, s.timeout, func(ctx context.Context) error { return s.store.Reset(ctx, own) })
}

// copyCharges returns a copy that shares no memory with charges: their strings may lie in a buffer that the caller uses
// for something else soon.
func copyCharges(charges []limiter.Charge) []limiter.Charge {
	own := make([]limiter.Charge, len(charges))
	for i := range charges {
		own[i] = charges[i]
		own[i].Scope, own[i].Key = strings.Clone(charges[i].Scope), strings.Clone(charges[i].Key)
	}
	return own
}
