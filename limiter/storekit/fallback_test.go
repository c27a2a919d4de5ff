package storekit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// faulty is a store that fails while err is set, and then leaves traces in the charges, as a store may.
type faulty struct {
	limiter.Store
	err atomic.Pointer[error]
}

func (f *faulty) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if err := f.err.Load(); err != nil {
		for i := range charges {
			charges[i].State, charges[i].Decision = limiter.State{At: 1, Current: 9}, limiter.Decision{Remaining: 9}
		}
		return true, *err
	}
	return f.Store.Take(ctx, charges)
}

func (f *faulty) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return f.Store.Reset(ctx, charges)
}

// fail has the store fail with err; nil mends it.
func (f *faulty) fail(err error) {
	if err == nil {
		f.err.Store(nil)
	} else {
		f.err.Store(&err)
	}
}

// pair is a store with a fallback, and the two that it asks.
type pair struct {
	limiter.Store
	remote, local *faulty
}

func newPair(t *testing.T, instances int) *pair {
	p := &pair{remote: &faulty{Store: newMemory(t)}, local: &faulty{Store: newMemory(t)}}
	p.Store = storekit.WithFallback(p.remote, p.local, instances)
	return p
}

func newMemory(t *testing.T) limiter.Store {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// take has the pair decide one charge.
func (p *pair) take(t *testing.T, c limiter.Charge) limiter.Charge {
	t.Helper()
	charges := []limiter.Charge{c}
	if taken, err := p.Take(t.Context(), charges); err != nil || !taken {
		t.Fatalf("%d units: got %t, %v, want true, nil", c.Cost, taken, err)
	}
	return charges[0]
}

// checkUsed compares what the two stores have counted.
func (p *pair) checkUsed(t *testing.T, c limiter.Charge, remote, local int64) {
	t.Helper()
	if got := used(t, p.remote.Store, c); got != remote {
		t.Errorf("units that remote has counted: got %d, want %d", got, remote)
	}
	if got := used(t, p.local.Store, c); got != local {
		t.Errorf("units that local has counted: got %d, want %d", got, local)
	}
}

// used returns the units that a store has counted.
func used(t *testing.T, store limiter.Store, c limiter.Charge) int64 {
	t.Helper()
	c.Cost, c.Mode, c.State = 0, limiter.Force, limiter.State{}
	charges := []limiter.Charge{c}
	if _, err := store.Take(context.Background(), charges); err != nil {
		t.Fatal(err)
	}
	return charges[0].Current + charges[0].Previous
}

// daily is a charge whose window does not end during a test: one of memory begins whenever it likes to.
func daily(n, cost int64) limiter.Charge {
	limit := limiter.Limit{Requests: n, Window: 24 * time.Hour, Algorithm: limiter.SlidingLog}
	return limiter.Charge{Scope: "scope", Key: "key", Limit: limit, Cost: cost}
}

func back(c limiter.Charge, n int64) limiter.Charge {
	c.Cost = -n
	return c
}

func TestFallbackConforms(t *testing.T) {
	t.Run("over memory", func(t *testing.T) {
		limitertest.Run(t, func(t *testing.T) limitertest.Harness {
			return limitertest.Harness{Store: newPair(t, 3)}
		})
	})
	for name, failure := range map[string]error{"while remote answers": nil, "while remote fails": errDown} {
		t.Run(name, func(t *testing.T) {
			limitertest.Run(t, func(*testing.T) limitertest.Harness {
				var now atomic.Int64
				now.Store(time.Date(2026, 11, 20, 10, 0, 0, 123e6, time.UTC).UnixMilli())
				remote := &faulty{Store: refstore.New(now.Load)}
				remote.fail(failure)
				return limitertest.Harness{
					Store:   resets{storekit.WithFallback(remote, refstore.New(now.Load), 1)},
					Advance: func(d time.Duration) { now.Add(d.Milliseconds()) },
				}
			})
		})
	}
}

// resets takes no notice of a Reset that remote could not make.
type resets struct{ limiter.Store }

func (r resets) Reset(ctx context.Context, charges []limiter.Charge) error {
	if err := r.Store.Reset(ctx, charges); !errors.Is(err, errDown) {
		return err
	}
	return nil
}

func TestFallbackDecidesByItsShare(t *testing.T) {
	bucket := limiter.Limit{Requests: 10, Window: 24 * time.Hour, Algorithm: limiter.TokenBucket, Burst: 40}
	for _, tc := range []struct {
		name      string
		limit     limiter.Limit
		cost      int64
		instances int
		want      int // how many pass
	}{
		{"rounded up", limiter.PerDay(10), 1, 3, 4},
		{"at least one", limiter.PerDay(2), 1, 50, 1},
		{"of one process", limiter.PerDay(10), 1, 1, 10},
		{"of no number of processes", limiter.PerDay(10), 1, 0, 10},
		{"a bucket's burst", bucket, 1, 4, 10},
		{"a cost above the share", limiter.PerDay(10), 7, 5, 1},
		{"a cost above a bucket's share", bucket, 30, 10, 1},
		{"a cost above the limit", limiter.PerDay(10), 11, 5, 0},
		{"a limit of 0", limiter.PerDay(0), 1, 5, 0},
		{"nothing, of a limit of 0", limiter.PerDay(0), 0, 5, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPair(t, tc.instances)
			p.remote.fail(errDown)
			c := limiter.Charge{Scope: "scope", Key: "key", Limit: tc.limit, Cost: tc.cost}
			for i := range tc.want + 2 {
				charges := []limiter.Charge{c}
				taken, err := p.Take(t.Context(), charges)
				if err != nil || taken != (i < tc.want) || charges[0].Allowed != taken {
					t.Fatalf("charge %d: got %t, %v, want %t, nil", i+1, taken, err, i < tc.want)
				}
				if got := charges[0]; !got.Local || got.Limit != tc.limit || got.Cost != tc.cost {
					t.Errorf("charge %d: got %+v, want it marked as local, of the whole limit", i+1, got)
				}
			}
		})
	}
}

func TestFallbackTellsWhatIsLeftOfTheShare(t *testing.T) {
	p := newPair(t, 5)
	l, err := limiter.New(p, "mail", limiter.PerDay(100))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		failure error
		want    int64
	}{{nil, 99}, {errDown, 19}, {errDown, 18}, {nil, 98}} {
		p.remote.fail(step.failure)
		if d, err := l.Allow(t.Context(), "alice"); err != nil || d.Remaining != step.want {
			t.Errorf("while remote says %v: got %d left, %v, want %d", step.failure, d.Remaining, err, step.want)
		}
	}
}

func TestFallbackTellsWhatIsLeftOfTheShareAfterARefund(t *testing.T) {
	p := newPair(t, 5)
	p.remote.fail(errDown)
	c := p.take(t, daily(100, 5))
	p.remote.fail(nil)
	if got := p.take(t, back(c, 5)).Remaining; got != 20 {
		t.Errorf("left after a refund to local: got %d, want 20", got)
	}
}

func TestFallbackReturnsErrorsThatAreNoOutage(t *testing.T) {
	ended, end := context.WithCancel(context.Background())
	end()
	for _, tc := range []struct {
		name  string
		ctx   context.Context
		err   error
		limit limiter.Limit
	}{
		{"an ended context", ended, context.Canceled, limiter.PerDay(5)},
		{"an algorithm that remote does not run", context.Background(), fmt.Errorf("store: %w", limiter.ErrUnsupported),
			limiter.PerDay(5)},
		{"an invalid limit", context.Background(), errDown, limiter.PerDay(-1)},
		{"a limit that remote refuses", context.Background(), errDown, limiter.Per(5, 31*24*time.Hour)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			remote := &faulty{Store: newMemory(t)}
			remote.fail(tc.err)
			local := newMemory(t)
			store := storekit.WithFallback(monthless{remote}, local, 1)
			c := daily(5, 1)
			c.Limit = tc.limit
			if taken, err := store.Take(tc.ctx, []limiter.Charge{c}); taken || !errors.Is(err, tc.err) {
				t.Errorf("got %t, %v, want false, %v", taken, err, tc.err)
			}
			if tc.limit.Validate() == nil && used(t, local, c) != 0 {
				t.Error("the local store has counted it")
			}
		})
	}
}

// monthless is a store that refuses windows above 30 days.
type monthless struct{ limiter.Store }

func (monthless) Check(l limiter.Limit) error {
	if l.Window > 30*24*time.Hour {
		return errors.New("too long")
	}
	return nil
}

func TestFallbackThatFailsTooTellsBothReasons(t *testing.T) {
	p := newPair(t, 1)
	errLocal := errors.New("the disk is full")
	p.remote.fail(errDown)
	p.local.fail(errLocal)
	_, err := p.Take(t.Context(), []limiter.Charge{daily(5, 1)})
	if !errors.Is(err, errDown) || !errors.Is(err, errLocal) {
		t.Errorf("got %v, want an error that wraps %v and %v", err, errDown, errLocal)
	}
}

func TestFallbackRefundsWhereItWasCharged(t *testing.T) {
	t.Run("local charges when remote is back", func(t *testing.T) {
		p := newPair(t, 1)
		atRemote := p.take(t, daily(10, 5))
		p.remote.fail(errDown)
		atLocal := p.take(t, daily(10, 4))
		p.remote.fail(nil)
		p.take(t, back(atLocal, 3))
		p.checkUsed(t, atRemote, 5, 1)
		p.take(t, back(atLocal, 100))
		p.checkUsed(t, atRemote, 5, 0)
		p.take(t, back(atRemote, 2))
		p.checkUsed(t, atRemote, 3, 0)
	})
	t.Run("charges of remote during an outage", func(t *testing.T) {
		p := newPair(t, 1)
		atRemote := p.take(t, daily(10, 5))
		p.remote.fail(errDown)
		p.take(t, daily(10, 4))
		for name, batch := range map[string][]limiter.Charge{
			"alone":         {back(atRemote, 3)},
			"with a charge": {back(atRemote, 3), daily(10, 1)},
		} {
			if taken, err := p.Take(t.Context(), batch); taken || !errors.Is(err, errDown) {
				t.Errorf("%s: got %t, %v, want false, %v", name, taken, err, errDown)
			}
		}
		p.checkUsed(t, atRemote, 5, 4)
	})
	t.Run("a charge that is used again", func(t *testing.T) {
		p := newPair(t, 1)
		p.remote.fail(errDown)
		c := p.take(t, daily(10, 1))
		p.remote.fail(nil)
		if c = p.take(t, c); c.Local {
			t.Error("a charge of remote is marked as local")
		}
		p.take(t, back(c, 1))
		p.checkUsed(t, c, 0, 1)
	})
}

func TestFallbackRefundsWithoutState(t *testing.T) {
	p := newPair(t, 1)
	l, err := limiter.New(p, "scope", daily(10, 1).Limit)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		failure       error
		n             int64 // spent, or given back
		remote, local int64 // used afterwards
	}{
		{nil, 5, 5, 0},
		{errDown, 3, 5, 3},
		{nil, -4, 4, 0}, // what local has, and the rest
		{errDown, 2, 4, 2},
		{errDown, -3, 4, 0}, // what local has; the rest is lost
		{errDown, -3, 4, 0},
		{nil, -3, 1, 0},
	} {
		p.remote.fail(step.failure)
		if step.n > 0 {
			_, err = l.AllowN(t.Context(), "key", step.n)
		} else {
			err = l.Refund(t.Context(), "key", -step.n)
		}
		if err != nil {
			t.Fatalf("%d units while remote says %v: %v", step.n, step.failure, err)
		}
		p.checkUsed(t, daily(10, 0), step.remote, step.local)
	}
}

func TestFallbackRefundsInABatchWithCharges(t *testing.T) {
	full := limiter.Charge{Scope: "scope", Key: "full", Limit: limiter.PerDay(1), Cost: 2}
	for _, tc := range []struct {
		name          string
		failure       error
		with          limiter.Charge
		taken         bool
		remote, local int64
	}{
		{"to local, once remote has spent the rest", nil, daily(10, 2), true, 2, 1},
		{"to nobody, when remote refuses the rest", nil, full, false, 0, 4},
		{"as one batch during an outage", errDown, daily(4, 3), true, 0, 4},
		{"as one batch that is refused", errDown, daily(4, 4), false, 0, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPair(t, 1)
			p.remote.fail(errDown)
			atLocal := p.take(t, daily(10, 4))
			p.remote.fail(tc.failure)
			batch := []limiter.Charge{back(atLocal, 3), tc.with}
			taken, err := p.Take(t.Context(), batch)
			if taken != tc.taken || err != nil || !batch[0].Allowed || batch[1].Allowed != tc.taken {
				t.Errorf("got %t, %v, %+v, want %t, nil", taken, err, batch, tc.taken)
			}
			p.checkUsed(t, atLocal, tc.remote, tc.local)
		})
	}
}

// What remote has spent is not decided once more by local, though the refund of a local charge in the same batch fails.
func TestFallbackDecidesNothingTwice(t *testing.T) {
	p := newPair(t, 1)
	p.remote.fail(errDown)
	atLocal := p.take(t, daily(10, 4))
	p.remote.fail(nil)
	local := &failsOnce{Store: p.local.Store, err: errors.New("the disk is full")}
	store := storekit.WithFallback(p.remote, local, 1)
	taken, err := store.Take(t.Context(), []limiter.Charge{back(atLocal, 3), daily(10, 2)})
	if taken || !errors.Is(err, local.err) {
		t.Errorf("got %t, %v, want false, %v", taken, err, local.err)
	}
	p.checkUsed(t, atLocal, 2, 4)
}

// failsOnce is a store whose first Take fails.
type failsOnce struct {
	limiter.Store
	err    error
	failed bool
}

func (f *failsOnce) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	if !f.failed {
		f.failed = true
		return false, f.err
	}
	return f.Store.Take(ctx, charges)
}

// Whatever fails in whatever order, each store holds what it was charged and not given back, no more and no less.
func TestFallbackNeverGivesBackElsewhere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p := newPair(t, 1)
	var charged []limiter.Charge
	want := map[bool]int64{} // by Local
	for range 5000 {
		p.remote.fail([]error{nil, nil, errDown}[random.IntN(3)])
		if len(charged) == 0 || random.IntN(2) == 0 {
			charges := []limiter.Charge{daily(60, 1+random.Int64N(5))}
			taken, err := p.Take(t.Context(), charges)
			if err != nil {
				t.Fatal(err)
			}
			if c := charges[0]; taken {
				charged = append(charged, c)
				want[c.Local] += c.Cost
			}
			continue
		}
		i := random.IntN(len(charged))
		c := charged[i]
		charged[i] = charged[len(charged)-1]
		charged = charged[:len(charged)-1]
		if _, err := p.Take(t.Context(), []limiter.Charge{back(c, c.Cost)}); err == nil {
			want[c.Local] -= c.Cost
		} else if c.Local {
			t.Fatalf("a refund to local: %v", err)
		} else if want[false] > 50 { // what could not be given back fills the window
			p.remote.fail(nil)
			p.take(t, back(c, c.Cost))
			want[false] -= c.Cost
		}
		p.checkUsed(t, daily(60, 0), want[false], want[true])
	}
}

func TestFallbackAtOnce(t *testing.T) {
	const limit, instances, callers = 100, 4, 64
	p := newPair(t, instances)
	var admitted [2]atomic.Int64
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for j := range 50 {
				p.remote.fail([]error{nil, errDown}[(i+j)%2])
				charges := []limiter.Charge{daily(limit, 1)}
				taken, err := p.Take(context.Background(), charges)
				if err != nil {
					t.Error(err)
				}
				if taken && charges[0].Local {
					admitted[1].Add(1)
				} else if taken {
					admitted[0].Add(1)
				}
				p.Store.(limiter.StatsReporter).Stats()
			}
		})
	}
	all.Wait()
	if r, l := admitted[0].Load(), admitted[1].Load(); r != limit || l != limit/instances {
		t.Errorf("admitted: got %d by remote and %d by local, want %d and %d", r, l, limit, limit/instances)
	}
}

func TestFallbackResetsBoth(t *testing.T) {
	for name, failure := range map[string]error{"while remote answers": nil, "while remote fails": errDown} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 1)
			c := p.take(t, daily(10, 5))
			p.remote.fail(errDown)
			p.take(t, daily(10, 4))
			p.remote.fail(failure)
			if err := p.Reset(t.Context(), []limiter.Charge{c}); !errors.Is(err, failure) {
				t.Errorf("got %v, want %v", err, failure)
			}
			left := map[bool]int64{true: 5}[failure != nil]
			p.checkUsed(t, c, left, 0)
		})
	}
}

func TestFallbackTellsOperators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, 1)
		stats := func() string {
			text, err := json.Marshal(p.Store.(limiter.StatsReporter).Stats().Fallback)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		began := time.Now()
		for _, step := range []struct {
			failure error
			want    string
		}{
			{nil, `{"decided":0}`},
			{errDown, fmt.Sprintf(`{"decided":1,"since":%q,"cause":%q}`, began.Add(time.Second).Format(time.RFC3339), errDown)},
			{fmt.Errorf("still down"),
				fmt.Sprintf(`{"decided":2,"since":%q,"cause":%q}`, began.Add(time.Second).Format(time.RFC3339), errDown)},
			{nil, `{"decided":2}`},
		} {
			p.remote.fail(step.failure)
			p.take(t, daily(10, 1))
			if got := stats(); got != step.want {
				t.Errorf("while remote says %v: got %s, want %s", step.failure, got, step.want)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestFallbackAsksBothWhatTheyCan(t *testing.T) {
	var none answered // refuses every limit
	refuses := struct {
		custom
		limiter.Checker
		limiter.StatsReporter
	}{custom{}, none, none}
	for name, tc := range map[string]struct {
		remote, local limiter.Store
		want          error
	}{
		"nobody minds": {custom{}, custom{}, nil},
		"remote":       {refuses, custom{}, limiter.ErrUnsupported},
		"local":        {custom{}, refuses, limiter.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			store := storekit.WithFallback(tc.remote, tc.local, 1)
			if err := store.(limiter.Checker).Check(limiter.PerDay(1)); err != tc.want {
				t.Errorf("Check: got %v, want %v", err, tc.want)
			}
			want := map[bool]int64{true: 7}[name == "remote"]
			if got := store.(limiter.StatsReporter).Stats().Entries; got != want {
				t.Errorf("Stats: got %d entries, want %d", got, want)
			}
			if got := fmt.Sprintf("%T", store.(interface{ Unwrap() limiter.Store }).Unwrap()); got != fmt.Sprintf(
				"%T",
				tc.remote,
			) {
				t.Errorf("Unwrap: got %s, want the remote store", got)
			}
		})
	}
}

// WithTimeout around it loses nothing that a refund needs.
func TestFallbackUnderATimeout(t *testing.T) {
	p := newPair(t, 1)
	p.Store = storekit.WithTimeout(p.Store, patient)
	p.remote.fail(errDown)
	c := p.take(t, daily(10, 4))
	p.remote.fail(nil)
	p.take(t, back(c, 3))
	p.checkUsed(t, c, 0, 1)
}

// down stands for a store whose server is away.
type down struct{}

func (down) Take(context.Context, []limiter.Charge) (bool, error) {
	return false, errors.New("no route")
}
func (down) Reset(context.Context, []limiter.Charge) error { return errors.New("no route") }

// Ten processes share a limit of 100 mails an hour. While their store is away, each sends up to ten.
func ExampleWithFallback() {
	local, err := memstore.New(memstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	store := storekit.WithFallback(down{}, local, 10)
	l, err := limiter.New(store, "mail", limiter.PerHour(100))
	if err != nil {
		log.Fatal(err)
	}
	d, err := l.Allow(context.Background(), "alice")
	fmt.Println(d.Allowed, d.Remaining, err)
	fmt.Println(strings.Contains(store.(limiter.StatsReporter).Stats().Fallback.Cause, "no route"))
	// Output:
	// true 9 <nil>
	// true
}
