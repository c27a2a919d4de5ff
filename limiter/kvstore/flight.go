package kvstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// flight is one call that decides the batches in it.
type flight struct {
	batches []*batch
	line    *line     // of which it is; nil for a probe, which nobody waits behind
	began   time.Time // when
	claimed atomic.Bool
	sent    atomic.Bool // the call began
	ended   bool        // it is counted; guarded by the queue's lock
}

// over reports whether the time of f is over: nobody waits for it any more.
func (f *flight) over(now time.Time, timeout time.Duration) bool { return now.Sub(f.began) >= timeout }

// claim reports whether its caller is the first one to claim the flight: the call when it begins, or fly when there
// will be none.
func (f *flight) claim() bool { return !f.claimed.Swap(true) }

// fail ends with err all batches of f that have not ended.
func (f *flight) fail(err error) {
	for _, b := range f.batches {
		b.fail(err)
	}
}

// counters returns those of all its batches.
func (f *flight) counters() (all []counter) {
	for _, b := range f.batches {
		all = append(all, b.counters...)
	}
	return all
}

// fly has the batches of f decided. It returns early if ctx ends, and the flight goes on.
func (s *Store) fly(ctx context.Context, f *flight) error {
	err := s.call(ctx, func(ctx context.Context) (err error) {
		if !f.claim() {
			return nil // too late: fly has returned
		}
		f.sent.Store(true)
		err = errExited
		defer func() { s.queue.end(s, f, err) }()
		err = s.decideAll(ctx, f)
		if ctx.Err() != nil && err != context.DeadlineExceeded {
			s.breaker.Explain(err) // the callers' errors say only that the time was over
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case f.claim(): // there was no call
		s.queue.end(s, f, nil)
		f.fail(err)
		return err
	case ctx.Err() != nil: // it ends the flight itself
		return err
	}
	s.queue.end(s, f, err)
	return err
}

// decideAll answers all batches of f, however the KV behaves.
func (s *Store) decideAll(ctx context.Context, f *flight) (err error) {
	err = errExited
	defer func() {
		if err = recovered(err, recover()); err != nil {
			err = safe(err, f.counters())
			f.fail(err)
		}
	}()
	var first error
	for rest := f.batches; len(rest) > 0; {
		var j *joint
		j, rest = join(rest)
		if e := s.decideJoint(ctx, j); first == nil {
			first = e
		}
	}
	return first
}

// decideJoint answers the batches of j.
func (s *Store) decideJoint(ctx context.Context, j *joint) error {
	err := safe(s.decide(ctx, j), j.counters)
	if errors.Is(err, ErrValue) && j.mixed() {
		s.decideApart(ctx, j.split())
		return nil // the KV works
	}
	if err != nil {
		s.forget(j)
	}
	j.fail(err)
	return err
}

// forget drops what is cached of j's counters after an error, so that the next flight reads first. A read may be
// repeated, and finds a connection that works.
func (s *Store) forget(j *joint) {
	for i := range j.counters {
		s.counts.drop(&j.counters[i])
	}
}

// decideApart answers batches of several kinds, all of one kind with the same counters. One of these holds a value that
// is no count, which must not fail those who do not ask for it, so they are halved until it is found.
func (s *Store) decideApart(ctx context.Context, kinds [][]*batch) {
	half := len(kinds) / 2
	for _, part := range [][][]*batch{kinds[:half], kinds[half:]} {
		j, _ := join(slices.Concat(part...))
		err := safe(s.decide(ctx, j), j.counters)
		if errors.Is(err, ErrValue) && len(part) > 1 {
			s.decideApart(ctx, part)
			continue
		}
		j.fail(err)
	}
}

// call runs f, which may outlive the caller, and reports to the breaker how it ended.
func (s *Store) call(ctx context.Context, f func(context.Context) error) error {
	permit, err := s.breaker.Begin(s.clock.Now())
	if err != nil {
		return err
	}
	if s.direct {
		err = s.calls.RunDirect(ctx, s.timeout, f)
	} else {
		err = s.calls.Run(ctx, s.timeout, f)
	}
	outcome := storekit.Failed
	switch {
	case err == nil, decides(err):
		outcome = storekit.Succeeded
	case ctx.Err() != nil, errors.Is(err, storekit.ErrBusy):
		outcome = storekit.Undecided
	}
	if s.breaker.End(permit, s.clock.Now(), outcome, err) && s.reconnector.due(permit, err) {
		go s.reconnect() // the caller's time is over
	}
	return err
}

// recovered returns err, or an error for a panic with that value. Its text may hold anything: see safe.
func recovered(err error, panicked any) error {
	if panicked == nil {
		return err
	}
	return fmt.Errorf("kvstore: the KV panicked: %v", panicked)
}
