package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

func TestStatsOfFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		kv := slow(newMapKV(time.Now), 2*time.Millisecond)
		kv.get = func(context.Context, []string) error {
			time.Sleep(2 * time.Millisecond)
			if down.Load() {
				return errDown
			}
			return nil
		}
		store := newStore(t, kv, kvstore.Config{Name: "visits", Address: "kv:1", DenyCache: 64})
		at := func() limiter.ServerStats { return store.Stats().Servers[0] }
		if got := at(); got != (limiter.ServerStats{Address: "kv:1", Healthy: true}) {
			t.Errorf("at first: %+v", got)
		}
		limit := limiter.PerHour(5)
		var wait sync.WaitGroup
		wait.Go(func() {
			together(store, 100, func(int) []limiter.Charge { return []limiter.Charge{charge(limit, 1)} })
		})
		synctest.Wait()
		if got := at(); got.Waiting != 100 || got.Calls != 0 {
			t.Errorf("under way: %+v, want 100 that wait", got)
		}
		wait.Wait()
		got := at()
		if got.Calls != 2 || got.Callers != 100 || got.Failed != 0 || got.Waiting != 0 || got.Since.IsZero() {
			t.Errorf("then: %+v, want 2 flights of 100 callers", got)
		}
		if want := [9]uint64{0: 1, 7: 1}; got.FlightSizes != want {
			t.Errorf("sizes of flights: %v, want %v: of 1 and of 99", got.FlightSizes, want)
		}
		take(t, store, charge(limit, 1))
		s := store.Stats()
		if s.Name != "visits" || s.DenyCacheHits != 1 || s.DenyCacheEntries != 1 || s.DenyCacheCapacity != 64 {
			t.Errorf("after a refusal from memory: %+v", s)
		}

		down.Store(true)
		other := charge(limit, 1)
		other.Key = "other"
		since := time.Now()
		for store.Healthy() {
			store.Take(context.Background(), []limiter.Charge{other})
			time.Sleep(20 * time.Millisecond)
		}
		got = at()
		if got.Healthy || got.Cause != errDown.Error() || got.Since.Before(since) || !got.NextProbe.After(time.Now()) {
			t.Errorf("after failures: %+v, want their cause, since when, and the next probe", got)
		}
		if got.Failed == 0 || got.Failed != got.Calls-2 {
			t.Errorf("%d of %d flights failed, want all but 2", got.Failed, got.Calls)
		}
		down.Store(false)
		time.Sleep(2 * time.Second)
		take(t, store, other)
		if got := at(); !got.Healthy || got.Cause != "" || !got.NextProbe.IsZero() {
			t.Errorf("after the KV came back: %+v", got)
		}
	})
}

func TestStatsOfUnitsSpentUnderError(t *testing.T) {
	for _, tc := range []struct {
		name string
		kv   hooked
		want uint64
	}{
		{"nothing was added", hooked{get: failGet}, 0},
		{"an addition is in doubt", hooked{add: nth(1, 1, fail)}, 3},
		{"the second is in doubt, and the first is given back", hooked{add: nth(2, 2, fail)}, 3},
		{"the second is in doubt, and the first cannot be given back", hooked{add: nth(2, 0, fail)}, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := newClock()
			tc.kv.KV = newMapKV(clock.Now)
			store := newStore(t, tc.kv, kvstore.Config{Timeout: patient, Now: clock.Now})
			if _, err := store.Take(context.Background(), pair()); !errors.Is(err, errDown) {
				t.Fatalf("got %v, want %v", err, errDown)
			}
			if got := store.Stats().SpentUnderError; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// A client library may wait longer than the store. What it says in the end explains the time-outs of the callers.
func TestLateErrorIsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := hooked{KV: newMapKV(time.Now), get: func(context.Context, []string) error {
			time.Sleep(500 * time.Millisecond)
			return fmt.Errorf("connect timeout to kv:1")
		}}
		store := newStore(t, kv, kvstore.Config{})
		for store.Healthy() {
			_, err := store.Take(context.Background(), pair())
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("got %v, want a time-out", err)
			}
		}
		time.Sleep(time.Second)
		if got := store.Stats().Servers[0].Cause; got != "connect timeout to kv:1" {
			t.Errorf("cause: got %q, want what the client said", got)
		}
		store.Take(context.Background(), pair()) // a probe
		_, err := store.Take(context.Background(), pair())
		if err == nil || !strings.Contains(err.Error(), "connect timeout to kv:1; next try in ") {
			t.Errorf("got %v, want the cause and when the next try is", err)
		}
		time.Sleep(time.Second) // the probe ends
	})
}
