package console

import (
	"context"
	"errors"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// askTime is how long a lookup or a reset waits for the stores, all of them together. Ours have time-outs that are
	// far shorter; anybody's may have none.
	askTime = 3 * time.Second

	// maxAsked is how many calls to the store of one Middleware may be under way: those to a store that never answers
	// stay for good. The stores of other Middlewares have places of their own.
	maxAsked = 16
)

var errNotInTime = errors.New("not answered in time")

// places bounds the calls to the store of one Middleware that are under way.
type places chan struct{}

// call is one call to a store, of a Middleware that has these places.
type call[T any] struct {
	places places
	ask    func(context.Context) (T, error)
}

// answer is what became of a call.
type answer[T any] struct {
	value T
	err   error // errNotInTime: it may still be under way
}

// askAll makes all calls at once, and returns what they have answered within askTime. It waits for no call that takes
// longer, whatever becomes of it. Calls go on when the viewer has left: a reset is not to end halfway.
func askAll[T any](ctx context.Context, calls []call[T]) []answer[T] {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	type numbered struct {
		i int
		answer[T]
	}
	done := make(chan numbered, len(calls)) // those that are late find nobody who listens
	for i, one := range calls {
		go func() { done <- numbered{i, one.run(ctx)} }()
	}
	answers := make([]answer[T], len(calls))
	for i := range answers {
		answers[i].err = errNotInTime
	}
	for range calls {
		select {
		case one := <-done:
			answers[one.i] = one.answer
		case <-ctx.Done():
			return answers
		}
	}
	return answers
}

// run makes a call once there is a place for it. It has a goroutine of its own, so a panic would end the process.
func (c call[T]) run(ctx context.Context) (a answer[T]) {
	select {
	case c.places <- struct{}{}:
	case <-ctx.Done():
		return answer[T]{err: errNotInTime}
	}
	defer func() {
		<-c.places
		if value := recover(); value != nil {
			a.err = errors.New("asking the store panicked: " + storekit.DescribePanic(value))
		}
		if ctx.Err() != nil && errors.Is(a.err, context.DeadlineExceeded) {
			a.err = errNotInTime
		}
	}()
	a.value, a.err = c.ask(ctx)
	return a
}

// placesOf returns the places of a watched Middleware.
func (c *Console) placesOf(m *httplimit.Middleware) places {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[m]
}
