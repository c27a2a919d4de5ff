package kvstore_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

// calls are the calls that a decision has made.
type calls struct{ gets, adds int64 }

func (kv *mapKV) calls() calls { return calls{kv.gets.Load(), kv.adds.Load()} }

// wantCalls runs f and compares the calls that it made.
func wantCalls(t *testing.T, what string, kv *mapKV, want calls, f func()) {
	t.Helper()
	before := kv.calls()
	f()
	after := kv.calls()
	if got := (calls{after.gets - before.gets, after.adds - before.adds}); got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func TestCalls(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow} {
		t.Run(algorithm.String(), func(t *testing.T) {
			clock := newClock()
			kv := newMapKV(clock.Now)
			store := newStore(t, kv, kvstore.Config{Now: clock.Now})
			limit := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: algorithm}
			ask := func() { take(t, store, charge(limit, 1)) }

			clock.Advance(10 * time.Second)
			wantCalls(t, "the first charge reads and adds", kv, calls{1, 1}, ask)
			wantCalls(t, "the next one adds", kv, calls{0, 1}, ask)
			peek := charge(limit, 1)
			peek.Mode = limiter.Peek
			wantCalls(t, "a peek reads", kv, calls{1, 0}, func() { take(t, store, peek) })
			wantCalls(t, "a refund reads and adds", kv, calls{1, 1}, func() { take(t, store, charge(limit, -1)) })
			wantCalls(t, "a charge after a refund reads anew", kv, calls{1, 1}, ask)
			clock.Advance(time.Millisecond) // or a refusal might be as old as the refund
			wantCalls(t, "what does not fit reads only", kv, calls{1, 0}, func() { take(t, store, charge(limit, 9)) })
			wantCalls(t, "again it is answered from memory", kv, calls{0, 0}, func() {
				if c := take(t, store, charge(limit, 9)); c.Allowed || !c.Cached {
					t.Errorf("answered from memory: allowed %v, cached %v, want false and true", c.Allowed, c.Cached)
				}
			})
			clock.Advance(time.Second)
			wantCalls(t, "a second later it asks again", kv, calls{1, 0}, func() { take(t, store, charge(limit, 9)) })
		})
	}
}

// Another process refunds and resets counts that this one has cached. That costs this one a call, and no client a
// wrong refusal.
func TestCachedCountsRefuseNobody(t *testing.T) {
	clock := newClock()
	kv := newMapKV(clock.Now)
	here := newStore(t, kv, kvstore.Config{Now: clock.Now, DenyCache: -1})
	there := newStore(t, kv, kvstore.Config{Now: clock.Now})
	limit := limiter.PerMinute(10)
	spent := take(t, here, charge(limit, 8))
	clock.Advance(time.Minute + time.Second)
	take(t, here, charge(limit, 1)) // caches 8 and 1

	if c := take(t, here, charge(limit, 9)); c.Allowed {
		t.Fatal("9 units fit beside 8 of the last minute and 1 of this one")
	}
	spent.Cost = -8
	take(t, there, spent)
	if c := take(t, here, charge(limit, 9)); !c.Allowed {
		t.Error("refused after another process had refunded the previous window")
	}
	if err := there.Reset(context.Background(), []limiter.Charge{charge(limit, 0)}); err != nil {
		t.Fatal(err)
	}
	if c := take(t, here, charge(limit, 10)); !c.Allowed {
		t.Error("refused after another process had reset the key")
	}
}

// A refusal that rests on units which are about to be subtracted must not be remembered.
func TestRemembersNoRefusalOfARace(t *testing.T) {
	limit := limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: limiter.FixedWindow}
	for _, tc := range []struct {
		name      string
		another   bool // it is another process that is refused
		mode      limiter.Mode
		tentative int64
	}{
		{"of this process", false, limiter.Enforce, 6},
		{"of another process, above the limit", true, limiter.Force, 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := newClock()
			inner := newMapKV(clock.Now)
			var asked, racing *kvstore.Store
			additions := 0
			kv := hooked{KV: inner, add: func(context.Context, string, int64) error {
				if additions++; additions == 2 { // the first of its two counters is added to
					if c := take(t, asked, charge(limit, 5)); c.Allowed {
						t.Errorf("allowed beside %d of 10 units: %+v", tc.tentative, c)
					}
					exhausting := charge(limit, 10)
					exhausting.Key = "second"
					take(t, newStore(t, inner, kvstore.Config{Timeout: patient, Now: clock.Now}), exhausting)
				}
				return nil
			}}
			racing = newStore(t, kv, kvstore.Config{Timeout: patient, Now: clock.Now})
			asked = racing
			if tc.another {
				asked = newStore(t, inner, kvstore.Config{Timeout: patient, Now: clock.Now})
			}
			first, second := charge(limit, tc.tentative), charge(limit, 5)
			first.Mode, second.Key = tc.mode, "second"
			if taken, err := racing.Take(context.Background(), []limiter.Charge{first, second}); taken || err != nil {
				t.Fatalf("the racing batch: got %v, %v, want it refused by its second counter", taken, err)
			}
			if c := take(t, asked, charge(limit, 5)); !c.Allowed {
				t.Errorf("refused although the other batch has compensated: %+v", c)
			}
		})
	}
}

// A count that stays above the limit is no race: a cost was forced, or the limit was lowered.
func TestRemembersRefusalAboveTheLimit(t *testing.T) {
	clock := newClock()
	kv := newMapKV(clock.Now)
	store := newStore(t, kv, kvstore.Config{Now: clock.Now})
	limit := limiter.PerMinute(10)
	forced := charge(limit, 30)
	forced.Mode = limiter.Force
	take(t, store, forced)
	ask := func() { take(t, store, charge(limit, 1)) }
	wantCalls(t, "right after", kv, calls{1, 0}, ask)
	wantCalls(t, "as long as it may be a race", kv, calls{1, 0}, ask)
	clock.Advance(50 * time.Millisecond)
	wantCalls(t, "when it is stable", kv, calls{1, 0}, ask)
	wantCalls(t, "then", kv, calls{0, 0}, ask)
}

// watched records the keys and times to live of additions.
type watched struct {
	kvstore.KV
	mu   sync.Mutex
	ttls map[string][]time.Duration
}

func (kv *watched) Add(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	kv.mu.Lock()
	kv.ttls[key] = append(kv.ttls[key], ttl)
	kv.mu.Unlock()
	return kv.KV.Add(ctx, key, delta, ttl)
}

func TestTimeToLive(t *testing.T) {
	for _, tc := range []struct {
		algorithm limiter.Algorithm
		passed    time.Duration
		want      time.Duration // beside Skew and Timeout
	}{
		{limiter.SlidingWindow, 0, 2 * time.Minute},
		{limiter.SlidingWindow, 45 * time.Second, 75 * time.Second},
		{limiter.FixedWindow, 0, time.Minute},
		{limiter.FixedWindow, 45 * time.Second, 15 * time.Second},
	} {
		clock := newClock()
		kv := &watched{KV: newMapKV(clock.Now), ttls: map[string][]time.Duration{}}
		store := newStore(t, kv, kvstore.Config{Timeout: time.Second, Skew: 2 * time.Second, Now: clock.Now})
		clock.Advance(tc.passed)
		take(t, store, charge(limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: tc.algorithm}, 1))
		for key, ttls := range kv.ttls {
			if len(ttls) != 1 || ttls[0] != tc.want+3*time.Second {
				t.Errorf("%v after %v: %q lives %v, want %v and Skew and Timeout", tc.algorithm, tc.passed, key, ttls, tc.want)
			}
		}
	}
}

func TestResetIsOneAddForEachWindow(t *testing.T) {
	clock := newClock()
	clock.Advance(30 * time.Second)
	kv := &watched{KV: newMapKV(clock.Now), ttls: map[string][]time.Duration{}}
	kv.KV = hooked{KV: kv.KV, add: func(_ context.Context, key string, delta int64) error {
		if delta != -math.MaxInt64 {
			t.Errorf("added to %q: got %d, want %d", key, delta, -math.MaxInt64)
		}
		return nil
	}}
	store := newStore(t, kv, kvstore.Config{Now: clock.Now})
	for algorithm, want := range map[limiter.Algorithm]int{limiter.SlidingWindow: 2, limiter.FixedWindow: 1} {
		clear(kv.ttls)
		c := charge(limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: algorithm}, 1)
		if err := store.Reset(context.Background(), []limiter.Charge{c, c}); err != nil {
			t.Fatal(err)
		}
		if got := len(kv.ttls); got != want {
			t.Errorf("%v: keys added to: got %d, want %d", algorithm, got, want)
		}
	}
}
