package storekit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

// The context of a direct call is like one of package context, whether a goroutine waits for its end or not.
func TestContextOfADirectCall(t *testing.T) {
	type key struct{}
	for name, waits := range map[string]bool{"with Done": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
				var kept context.Context
				err := storekit.NewCalls(1).RunDirect(parent, time.Second, func(ctx context.Context) error {
					kept = ctx
					cancel()
					if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Second {
						t.Errorf("the deadline is in %v (%v), want 1s", time.Until(at), ok)
					}
					if ctx.Value(key{}) != "value" {
						t.Error("a value of the caller's context is missing")
					}
					if waits {
						_ = ctx.Done()
					}
					time.Sleep(time.Second - 1)
					if err := ctx.Err(); err != nil {
						t.Errorf("before the deadline: got %v, want no error, though the caller's context ended", err)
					}
					if waits {
						<-ctx.Done()
					}
					time.Sleep(time.Nanosecond)
					return ctx.Err()
				})
				if err != context.DeadlineExceeded {
					t.Errorf("after the deadline: got %v, want that", err)
				}
				select {
				case <-kept.Done():
					if err := kept.Err(); err != context.DeadlineExceeded {
						t.Errorf("after the call: got %v, want what it was before", err)
					}
				default:
					t.Error("the context outlives the call")
				}
			})
		})
	}
}

func TestContextEndsWithTheDirectCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		waited := make(chan error)
		_ = storekit.NewCalls(1).RunDirect(t.Context(), time.Hour, func(ctx context.Context) error {
			kept = ctx
			go func() { <-ctx.Done(); waited <- ctx.Err() }()
			synctest.Wait()
			return nil
		})
		if err := <-waited; err != context.Canceled {
			t.Errorf("the waiting goroutine got %v, want context.Canceled", err)
		}
		if _, ok := <-kept.Done(); ok || kept.Err() != context.Canceled {
			t.Errorf("after the call: got %v, want context.Canceled", kept.Err())
		}
	})
}
