package kvstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// pooledKV is a KV behind a client that keeps connections and takes the one that was used last, as most do. It ignores
// contexts and has a time-out of its own.
type pooledKV struct {
	kvstore.KV
	timeout time.Duration // of the client
	dial    time.Duration // to make a connection
	broken  error         // instead of every answer
	drop    func()        // instead of dropping connections; nil: they are dropped

	mu         sync.Mutex
	trip       time.Duration // to be answered
	away       bool          // new connections are silent too
	idle       []bool        // whether the connection is silent
	made       int
	reconnects int
}

// become changes what calls find from now on: the time that an answer takes, whether new connections are silent, and
// how many are idle and silent.
func (kv *pooledKV) become(trip time.Duration, away bool, silent int) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.trip, kv.away = trip, away
	kv.idle = slices.Repeat([]bool{true}, silent)
}

// counts returns how many connections were made, and how often they were dropped.
func (kv *pooledKV) counts() (made, reconnects int) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	return kv.made, kv.reconnects
}

func (kv *pooledKV) Reconnect() {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.reconnects++
	if kv.drop != nil {
		kv.drop()
		return
	}
	kv.idle = nil
}

func (kv *pooledKV) Get(ctx context.Context, keys ...string) ([]int64, error) {
	if err := kv.exchange(); err != nil {
		return nil, err
	}
	return kv.KV.Get(ctx, keys...)
}

func (kv *pooledKV) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	if err := kv.exchange(); err != nil {
		return 0, err
	}
	return kv.KV.Add(ctx, key, delta, ttl)
}

func (kv *pooledKV) exchange() error {
	silent, trip := kv.connection()
	switch {
	case kv.broken != nil:
		return kv.broken
	case silent:
		time.Sleep(kv.timeout)
		return fmt.Errorf("read: %w", os.ErrDeadlineExceeded)
	}
	time.Sleep(trip)
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.idle = append(kv.idle, false)
	return nil
}

// connection takes an idle one, or makes one. It returns whether that is silent, and how long an answer takes.
func (kv *pooledKV) connection() (silent bool, trip time.Duration) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if last := len(kv.idle) - 1; last >= 0 {
		silent, kv.idle = kv.idle[last], kv.idle[:last]
		return silent, kv.trip
	}
	kv.made++
	return kv.away, kv.dial + kv.trip
}

// askUntil asks once a millisecond until done, and returns how many calls got no answer. Those that the breaker refused
// are not counted.
func askUntil(t *testing.T, store *kvstore.Store, done func(err error) bool) (unanswered int) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		began := time.Now()
		_, err := store.Take(context.Background(), pair())
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("a decision took %v, want 50ms at most", took)
		}
		if err != nil && !errors.Is(err, storekit.ErrOpen) {
			unanswered++
		}
		if done(err) {
			return unanswered
		}
		if time.Since(start) > time.Hour {
			t.Fatalf("not done within an hour; the latest: %v", err)
		}
	}
}

func decided(err error) bool { return err == nil }

func forTime(d time.Duration) func(error) bool {
	start := time.Now()
	return func(error) bool { return time.Since(start) >= d }
}

// However many idle connections went silent, the failures that open the breaker are all that they cost.
func TestSilentConnections(t *testing.T) {
	for _, tc := range []struct {
		name    string
		silent  int
		timeout time.Duration // of the client
		dial    time.Duration
		direct  bool
		want    int // calls without an answer
	}{
		{"a few, which open no breaker", 3, time.Second, 0, false, 3},
		{"16", 16, time.Second, 0, false, 5},
		{"1000", 1000, time.Second, 0, false, 5},
		{"1000, Direct", 1000, 25 * time.Millisecond, 0, true, 5},
		// The first probe makes a connection, which takes too long for it; the next one has that.
		{"1000, connecting takes longer than a decision", 1000, time.Second, 45 * time.Millisecond, false, 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := &pooledKV{KV: newMapKV(time.Now), timeout: tc.timeout, dial: tc.dial}
				kv.become(10*time.Millisecond, false, tc.silent)
				store := newStore(t, kv, kvstore.Config{Direct: tc.direct})
				if got := askUntil(t, store, decided); got != tc.want {
					t.Errorf("calls without an answer: got %d, want %d", got, tc.want)
				}
				if _, got := kv.counts(); got != min(1, tc.silent/5) {
					t.Errorf("reconnects: got %d, want %d", got, min(1, tc.silent/5))
				}
				time.Sleep(time.Minute) // for the client to give up
			})
		})
	}
}

// Many callers at once, also to a KV to which a connection takes longer than a decision: those that are made beside the
// calls are kept, until there are enough for all.
func TestSilentConnectionsOfManyCallers(t *testing.T) {
	for name, dial := range map[string]time.Duration{"near": time.Millisecond, "far": 45 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const callers, inARow = 16, 50
				kv := &pooledKV{KV: newMapKV(time.Now), timeout: time.Second, dial: dial}
				kv.become(10*time.Millisecond, false, 64)
				store := newStore(t, kv, kvstore.Config{})
				var all sync.WaitGroup
				start := time.Now()
				for i := range callers {
					all.Go(func() {
						c := charge(limiter.PerDay(1_000_000), 1)
						c.Key = fmt.Sprint(i)
						for row := 0; row < inARow; time.Sleep(5 * time.Millisecond) {
							if row++; time.Since(start) > time.Minute {
								t.Errorf("caller %d: not answered %d times in a row within a minute", i, inARow)
								return
							}
							if _, err := store.Take(context.Background(), []limiter.Charge{c}); err != nil {
								row = 0
							}
						}
					})
				}
				all.Wait()
				if _, got := kv.counts(); got > 1 {
					t.Errorf("reconnects: got %d, want 1 at most", got)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// Connections go silent again, after the store was well, and after it was not.
func TestSilentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := &pooledKV{KV: newMapKV(time.Now), timeout: time.Second}
		store := newStore(t, kv, kvstore.Config{})
		for round := range 3 {
			kv.become(0, false, 100)
			if got := askUntil(t, store, decided); got != 5 {
				t.Errorf("round %d: calls without an answer: got %d, want 5", round, got)
			}
		}

		kv.become(0, true, 0)
		askUntil(t, store, forTime(10*time.Second))
		kv.become(0, false, 100)
		if got := askUntil(t, store, decided); got > 2 {
			t.Errorf("after an outage: calls without an answer: got %d, want 2 at most", got)
		}
		time.Sleep(time.Minute)
	})
}

// A server that is away or slow for all is asked with pauses as before, and costs a connection or two a pause.
func TestReconnectsFewTimes(t *testing.T) {
	for _, tc := range []struct {
		name string
		away bool
		trip time.Duration
		drop func()
	}{
		{name: "away", away: true},
		{name: "slow", trip: 60 * time.Millisecond},
		{name: "Reconnect panics", away: true, drop: func() { panic("nil map") }},
		{name: "Reconnect is slow", away: true, drop: func() { time.Sleep(80 * time.Millisecond) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const seconds = 30
				kv := &pooledKV{KV: newMapKV(time.Now), timeout: time.Second, drop: tc.drop}
				kv.become(tc.trip, tc.away, 0)
				store := newStore(t, kv, kvstore.Config{})
				unanswered := askUntil(t, store, forTime(seconds*time.Second))
				if unanswered < seconds || unanswered > 3*seconds {
					t.Errorf("calls in %d seconds: got %d, want some two a second", seconds, unanswered)
				}
				made, reconnects := kv.counts()
				if reconnects == 0 || 2*reconnects > unanswered {
					t.Errorf("reconnects: got %d for %d calls, want one for every other call at most", reconnects, unanswered)
				}
				if made > 2*unanswered { // a call that was answered late goes on
					t.Errorf("connections: got %d, want %d at most", made, 2*unanswered)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestNoReconnect(t *testing.T) {
	const late = 60 * time.Millisecond
	t.Run("while others are answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			kv := &pooledKV{KV: newMapKV(time.Now), timeout: time.Second}
			store := newStore(t, kv, kvstore.Config{})
			for i := range 100 {
				kv.become(late*time.Duration(min(1, i%4)), false, 0)
				_, err := store.Take(context.Background(), pair())
				if got := err == nil; got != (i%4 == 0) {
					t.Fatalf("call %d: %v", i, err)
				}
				time.Sleep(time.Second)
			}
			if _, got := kv.counts(); got > 0 {
				t.Errorf("reconnects: got %d, want 0", got)
			}
		})
	})
	t.Run("after errors that are no time-outs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			kv := &pooledKV{KV: newMapKV(time.Now), broken: errDown}
			store := newStore(t, kv, kvstore.Config{})
			askUntil(t, store, forTime(10*time.Second))
			if _, got := kv.counts(); got > 0 || store.Healthy() {
				t.Errorf("reconnects: got %d, healthy %v, want 0 and false", got, store.Healthy())
			}
		})
	})
	t.Run("without a breaker", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			kv := &pooledKV{KV: newMapKV(time.Now), timeout: time.Second}
			kv.become(0, false, 20)
			store := newStore(t, kv, kvstore.Config{NoBreaker: true})
			got := askUntil(t, store, decided)
			if _, reconnects := kv.counts(); got != 20 || reconnects > 0 {
				t.Errorf("got %d calls without an answer and %d reconnects, want 20 and 0", got, reconnects)
			}
			time.Sleep(time.Minute)
		})
	})
}
