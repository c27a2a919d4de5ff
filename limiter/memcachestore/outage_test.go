package memcachestore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// memcached is killed and started again under load: errors while it is down, at once after the first few, and counts
// that start anew.
func TestKilledAndRestartedUnderLoad(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	client := newClient(t, server)
	client.Timeout = 0 // as it comes: ten times as long as a decision may take
	store := newStore(t, client, memcachestore.Config{Prefix: newPrefix(), DenyCache: -1})
	limit := limiter.PerHour(1_000_000)

	var passed, failed, unavailable atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				taken, err := store.Take(context.Background(), []limiter.Charge{charge(limit, 1)})
				switch {
				case taken:
					passed.Add(1)
				case errors.Is(err, storekit.ErrOpen):
					unavailable.Add(1)
					time.Sleep(time.Millisecond) // or the refusals would take the machine's time from the rest
				case err != nil:
					failed.Add(1)
				}
			}
		})
	}
	wait := func(what string, reached func() bool) {
		for range 3000 {
			if reached() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%s: not within half a minute", what)
	}
	wait("decisions", func() bool { return passed.Load() > 1000 })
	server.kill()
	wait("errors at once", func() bool { return unavailable.Load() > 100 && !store.Healthy() })
	before := passed.Load()
	server.start(t, memcached(t))
	wait("decisions again", func() bool { return passed.Load() > before+1000 && store.Healthy() })
	close(stop)
	wg.Wait()

	if failed.Load() == 0 {
		t.Error("no errors while memcached was down")
	}
	peek := charge(limit, 0)
	peek.Mode = limiter.Peek
	// Additions whose answer was lost may have been carried out.
	if got, most := take(t, store, peek).Current, passed.Load()-before+failed.Load(); got > most {
		t.Errorf("counted after the restart: %d, want at most the %d asked for since", got, most)
	}
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	address := freeAddress(t)
	store := newStore(t, newClient(t, &server{address: address}), memcachestore.Config{Timeout: patient})
	for _, cost := range []int64{1, -1, 0} {
		if _, err := store.Take(context.Background(), []limiter.Charge{charge(limiter.PerMinute(5), cost)}); err == nil {
			t.Errorf("cost %d: no error", cost)
		}
	}
	if err := store.Reset(context.Background(), []limiter.Charge{charge(limiter.PerMinute(5), 0)}); err == nil {
		t.Error("Reset: no error")
	}
	if !store.Healthy() {
		t.Error("four failures opened the breaker")
	}
}
