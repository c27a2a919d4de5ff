package limiter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrWaitTooLong is wrapped by the error of [Limiter.Wait] if its context would end before a unit is free, or if the
// key can never have one. It is no [context.DeadlineExceeded]: that is for a context that has ended, and for a store
// that did not answer in time.
var ErrWaitTooLong = errors.New("limiter: the wait would be too long")

// Wait blocks until it has spent one unit of key. Its errors are
//
//   - one that wraps [ErrWaitTooLong], if ctx would end before a unit is free, or if none ever will be: at once, or,
//     with others in line, when that shows;
//   - ctx's own, when ctx ends;
//   - the store's, if it cannot decide.
//
// Who waits for the same key of the same Limiter is served in the order of arrival. Only as many ask the store as there
// may be units, and the others wait for what it answers, so that each unit costs two calls at most, however many wait.
// Callers of [Limiter.Allow], and those of other processes, may take a unit before them; then the first one waits on.
func (l *Limiter) Wait(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := l.lines.join(ctx, key)
	defer l.lines.leave(w) // also if the store panics
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-w.turn:
			if err != nil {
				return err
			}
		}
		d, err := l.Allow(ctx, key)
		switch {
		case err != nil:
			if own := ctx.Err(); own != nil {
				return own
			}
			return err
		case d.Allowed:
			l.lines.served(w, d.Remaining)
			return nil
		}
		if err := l.lines.refused(w, d.RetryAfter); err != nil {
			return err
		}
	}
}

// tooLong returns the error for a unit that is free after that time.
func tooLong(wait time.Duration) error {
	if wait == Never {
		return fmt.Errorf("%w: this key can never have a unit", ErrWaitTooLong)
	}
	return fmt.Errorf("%w: the next unit of this key is free in %v", ErrWaitTooLong, wait)
}
