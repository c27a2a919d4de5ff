package httplimit

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// askStore is store.Take for a store that may panic: then it could not decide. A store that calls runtime.Goexit ends
// the goroutine of the request, which nothing can keep from ending.
func (m *Middleware) askStore(ctx context.Context, store limiter.Store, charges []limiter.Charge) (
	taken bool, err error,
) {
	defer m.logger.undecided(&err)
	return store.Take(ctx, charges)
}

// resetStore is store.Reset for a store that may panic.
func (m *Middleware) resetStore(ctx context.Context, store limiter.Store, charges []limiter.Charge) (err error) {
	defer m.logger.undecided(&err)
	return store.Reset(ctx, charges)
}

// checkLimit is checker.Check for a store that may panic.
func (l *logger) checkLimit(checker limiter.Checker, limit limiter.Limit) (err error) {
	defer l.undecided(&err)
	return checker.Check(limit)
}

// undecided makes a panic of the store an error, and writes where it began into the log, once. It is to be deferred.
func (l *logger) undecided(err *error) {
	value := recover()
	if value == nil {
		return
	}
	what := errors.New("the store panicked: " + storekit.DescribePanic(value))
	if l.note("", "the store panicked", what.Error()) == textIsNew {
		l.slog().Error("httplimit: "+what.Error(), "stack", string(debug.Stack()))
	}
	*err = what
}

// withoutEnd returns the context for the store: ctx, which is that of r, with its values, and without its end. The
// store's time-out bounds the wait. A client that hangs up, a server that shuts down and a time-out around the
// middleware change nothing in what is decided, so that nobody is let through, or answered for nothing, by ending a
// context at the right moment.
func withoutEnd(ctx context.Context, r Request) context.Context {
	if own := ofHTTP(r); own != nil {
		return endless{own.r}
	}
	return keepValues(ctx)
}

// keepValues returns ctx without its end.
func keepValues(ctx context.Context) context.Context {
	if ctx.Done() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// endless is the context of a request as [context.WithoutCancel] makes it, but for nothing: an interface holds a single
// pointer without an allocation. It points to the request and not into the Outcome, which serves another request while
// a store may still use the context, in a goroutine that it no longer waits for.
type endless struct{ r *http.Request }

func (endless) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (endless) Done() <-chan struct{}                   { return nil }
func (endless) Err() error                              { return nil }
func (e endless) Value(key any) any                     { return e.r.Context().Value(key) }
