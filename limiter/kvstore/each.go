package kvstore

import (
	"context"
	"errors"
	"sync"
)

const (
	// inTurn is up to how many counters are changed one after the other, in the caller's goroutine.
	inTurn = 4
	// atOnce is how many are changed at once where there are more: what as many callers do, each alone.
	atOnce = 32
)

var errExited = errors.New("kvstore: the KV ended its goroutine")

// each calls f with each counter of j, several at once where there are many. After an error, which it returns, it
// begins no more.
func (s *Store) each(ctx context.Context, j *joint, f func(*Store, context.Context, *joint, *counter) error) error {
	if len(j.counters) <= inTurn {
		for i := range j.counters {
			if err := f(s, ctx, j, &j.counters[i]); err != nil {
				return err
			}
		}
		return nil
	}
	w := work{left: j.counters}
	var wait sync.WaitGroup
	for range min(len(j.counters), atOnce) {
		wait.Go(func() {
			err := errExited
			defer func() { w.end(recovered(err, recover())) }()
			for c := w.next(); c != nil; c = w.next() {
				if err = f(s, ctx, j, c); err != nil {
					return
				}
				err = errExited
			}
			err = nil
		})
	}
	wait.Wait()
	return w.err
}

// work is what the goroutines of each share.
type work struct {
	mu   sync.Mutex
	left []counter
	err  error
}

func (w *work) next() (c *counter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.left) == 0 {
		return nil
	}
	c, w.left = &w.left[0], w.left[1:]
	return c
}

func (w *work) end(err error) {
	if err == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = nil
	if w.err == nil {
		w.err = err
	}
}
