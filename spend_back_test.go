package httplimit_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// costs is a rule that charges every request n units.
func costs(n int64, limit limiter.Limit) httplimit.Rule {
	rule := ip(limit)
	rule.Cost = func(*http.Request) (int64, error) { return n, nil }
	return rule
}

// spend spends, and fails the test on an error.
func spend(t *testing.T, ctx context.Context, n int64) {
	t.Helper()
	if err := httplimit.Spend(ctx, "ip", n); err != nil {
		t.Fatalf("Spend of %d: %v", n, err)
	}
}

func TestSpendGivesBackAtMostWhatWasCharged(t *testing.T) {
	for _, tc := range []struct {
		name   string
		spends []int64
		want   int64 // used, of 10 that were charged first
	}{
		{"a part of the first charge", []int64{-4}, 6},
		{"all of it", []int64{-10}, 0},
		{"more than that", []int64{-11}, 0},
		{"as much as there are numbers", []int64{math.MinInt64}, 0},
		{"in parts", []int64{-4, -4, -4, -4}, 0},
		{"what was added, too", []int64{5, -15}, 0},
		{"what was added, and a part of the first", []int64{5, -7}, 8},
		{"nothing twice", []int64{5, -15, -15}, 0},
		{"what was added after all was given back", []int64{-10, 3, -1}, 2},
		{"beyond the limit and back", []int64{500, -500}, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			limit := limiter.Limit{Requests: 100, Window: 24 * time.Hour, Algorithm: limiter.FixedWindow}
			synctest.Test(t, func(t *testing.T) {
				m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{costs(10, limit)}})
				another := exposed(t, m, t.Context()) // 10 more, which nobody else gives back
				ctx := exposed(t, m, t.Context())
				for _, n := range tc.spends {
					spend(t, ctx, n)
				}
				if got := 100 - remaining(t, m, "ip"); got != 10+tc.want {
					t.Errorf("used: got %d, want 10 of another request and %d", got, tc.want)
				}
				if v := httplimit.Verdicts(ctx)[0]; v.Cost != tc.want {
					t.Errorf("the verdict's cost: got %d, want %d", v.Cost, tc.want)
				}
				if v := httplimit.Verdicts(ctx)[0]; v.Remaining != remaining(t, m, "ip") {
					t.Errorf("the verdict's remaining: got %d, want %d", v.Remaining, remaining(t, m, "ip"))
				}
				spend(t, another, -10)
				if got := 100 - remaining(t, m, "ip"); got > tc.want {
					t.Errorf("used, when the other request has given back: got %d, want %d", got, tc.want)
				}
			})
		})
	}
}

func TestSpendGivesBackNoMoreThanAFullCounterTook(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		limit limiter.Limit
		most  int64 // that Spend asks for
	}{
		{limiter.Limit{Requests: 100, Window: day, Algorithm: limiter.SlidingWindow}, math.MaxInt64},
		{limiter.Limit{Requests: 100, Window: day, Algorithm: limiter.SlidingLog}, math.MaxInt64},
		{limiter.Limit{Requests: 100, Window: day, Algorithm: limiter.FixedWindow}, math.MaxInt64},
		{limiter.Limit{Requests: 100, Window: day, Algorithm: limiter.StrictWindow}, math.MaxInt64},
		{limiter.Limit{Requests: 100, Window: day, Algorithm: limiter.TokenBucket}, math.MaxInt64},
		{limiter.Limit{Requests: 100, Window: 2 * time.Hour, Algorithm: limiter.TokenBucket}, math.MaxInt64},
		{limiter.Limit{Requests: 100, Window: 366 * day, Algorithm: limiter.TokenBucket}, 300_000}, // it holds 284,836
	} {
		t.Run(tc.limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{costs(10, tc.limit)}})
				_ = exposed(t, m, t.Context()) // 10 more, which nobody gives back
				ctx := exposed(t, m, t.Context())
				for _, n := range []int64{tc.most, tc.most, math.MinInt64, math.MinInt64} {
					spend(t, ctx, n)
				}
				// What a full bucket has kept of a unit is not given back.
				if got := remaining(t, m, "ip"); got != 90 && (got != 89 || tc.limit.Algorithm != limiter.TokenBucket) {
					t.Errorf("remaining: got %d, want 90", got)
				}
				if got := httplimit.Verdicts(ctx)[0].Cost; got != 0 {
					t.Errorf("the verdict's cost when all was given back: got %d, want 0", got)
				}
			})
		})
	}
}

func TestSpendGivesBackNothingOfARuleThatChargedNothing(t *testing.T) {
	shadow := costs(200, limiter.PerDay(100))
	shadow.Shadow = true
	open := costs(5, limiter.PerDay(100))
	open.Failure = httplimit.FailOpen
	for name, tc := range map[string]struct {
		rule httplimit.Rule
		err  error // of the store, at the request
	}{
		"a shadow rule that would have refused": {shadow, nil},
		"a request that costs nothing":          {costs(0, limiter.PerDay(100)), nil},
		"a rule that let pass during an outage": {open, errDown},
	} {
		t.Run(name, func(t *testing.T) {
			store := &scripted{err: tc.err, answer: func(c *limiter.Charge) { c.Allowed = c.Cost <= c.Limit.Requests }}
			m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{tc.rule}})
			ctx := exposed(t, m, t.Context())
			store.fail(nil)
			spend(t, ctx, -5)
			if got := len(store.charges()); got != 1 {
				t.Errorf("the store was asked for %d charges, want that of the request", got)
			}
		})
	}
}

// clocked is a scripted store that says of each charge that it was made a millisecond after the one before.
func clocked() *scripted {
	var at int64
	return &scripted{answer: func(c *limiter.Charge) { at++; c.At = at }}
}

func TestSpendGivesBackTheLatestFirstEachAtItsMoment(t *testing.T) {
	store := clocked()
	rule := costs(10, limiter.PerDay(100))
	m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{rule}})
	ctx := exposed(t, m, t.Context())
	spend(t, ctx, 3)
	spend(t, ctx, 4)
	before := len(store.charges())
	spend(t, ctx, -5)
	spend(t, ctx, -5)
	var got [][2]int64
	for _, c := range store.charges()[before:] {
		got = append(got, [2]int64{c.At, c.Cost})
		c.Cost, c.At = 0, 0
		want := limiter.Charge{Scope: "/ip", Key: "192.0.2.1", Limit: limiter.PerDay(100)}
		if c != want {
			t.Errorf("a refund:\n got %+v\nwant %+v, but for cost and moment", c, want)
		}
	}
	if want := [][2]int64{{3, -4}, {2, -1}, {2, -2}, {1, -3}}; !slices.Equal(got, want) {
		t.Errorf("moments and costs: got %v, want %v", got, want)
	}
}

func TestSpendGivesBackNothingOfAWindowThatIsOver(t *testing.T) {
	limit := limiter.Limit{Requests: 100, Window: time.Minute, Algorithm: limiter.FixedWindow}
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{costs(50, limit)}})
		ctx := exposed(t, m, t.Context())
		time.Sleep(time.Minute)
		_ = exposed(t, m, t.Context()) // 50 in this window
		spend(t, ctx, 10)
		spend(t, ctx, -60)
		if got := remaining(t, m, "ip"); got != 50 {
			t.Errorf("remaining: got %d, want 50: the 10 came back, the 50 of the last window did not", got)
		}
	})
}

func TestSpendAndCountStatusGiveBackOnce(t *testing.T) {
	for _, tc := range []struct {
		name                  string
		before, after, settle int64 // given back, and the status
		want                  int64 // used, of 10 and 5
	}{
		{"by Settle", 0, -15, 200, 0},
		{"a part by Spend, the rest by Settle", -4, -15, 200, 0},
		{"all by Spend", -15, -15, 200, 0},
		{"what counts, by Spend, before", -4, 0, 401, 11},
		{"what counts, by Spend, afterwards", -4, -4, 401, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rule := costs(10, limiter.PerDay(100))
			rule.CountStatus = func(status int) bool { return status >= 400 }
			synctest.Test(t, func(t *testing.T) {
				m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{rule}})
				others := m.Check(httplimit.HTTPRequest(get())) // 10 that nobody gives back
				o := m.Check(httplimit.HTTPRequest(get()))
				ctx := o.Context()
				spend(t, ctx, 5)
				spend(t, ctx, tc.before)
				o.Settle(int(tc.settle))
				spend(t, ctx, tc.after)
				if got := 100 - remaining(t, m, "ip"); got != 10+tc.want {
					t.Errorf("used: got %d, want 10 of another request and %d", got, tc.want)
				}
				others.Settle(401)
			})
		})
	}
}

// Whether a call that failed gave anything back is not known, so it is never made again: not by Spend, not by Settle.
func TestSpendThatFailedGivesNothingBackTwice(t *testing.T) {
	store := clocked()
	rule := costs(10, limiter.PerDay(100))
	rule.CountStatus = func(int) bool { return false }
	m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{rule}})
	o := m.Check(httplimit.HTTPRequest(get()))
	ctx := o.Context()
	store.fail(errDown)
	if err := httplimit.Spend(ctx, "ip", -6); !errors.Is(err, errDown) {
		t.Errorf("got %v, want %v", err, errDown)
	}
	if v := httplimit.Verdicts(ctx)[0]; v.Cost != 10 {
		t.Errorf("the verdict's cost: got %d, want 10, as nothing is known to be given back", v.Cost)
	}
	store.fail(nil)
	asked := len(store.charges())
	spend(t, ctx, -1)
	o.Settle(200)
	spend(t, ctx, -10)
	var got []int64
	for _, c := range store.charges()[asked:] {
		got = append(got, c.Cost)
	}
	if want := []int64{-1, -3}; !slices.Equal(got, want) {
		t.Errorf("given back after the failure: got %v, want %v", got, want)
	}
}

func TestSpendGivesBackWhereItWasCharged(t *testing.T) {
	t.Run("in this process, when the store is back", func(t *testing.T) {
		store := &scripted{err: errDown}
		m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{costs(10, limiter.PerDay(100))}})
		ctx := exposed(t, m, t.Context())
		store.fail(nil)
		spend(t, ctx, -4)
		if got := len(store.charges()); got != 1 {
			t.Errorf("the store was asked for %d charges, want that of the request", got)
		}
		store.fail(errDown)
		if got := remaining(t, m, "ip"); got != 94 {
			t.Errorf("remaining in this process: got %d, want 94", got)
		}
	})
	t.Run("in the store, when it is down", func(t *testing.T) {
		store := &scripted{}
		m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{costs(10, limiter.PerDay(100))}})
		ctx := exposed(t, m, t.Context())
		store.fail(errDown)
		_ = exposed(t, m, t.Context()) // 10 in this process
		if err := httplimit.Spend(ctx, "ip", -4); !errors.Is(err, errDown) {
			t.Errorf("got %v, want %v", err, errDown)
		}
		if got := remaining(t, m, "ip"); got != 90 {
			t.Errorf("remaining in this process: got %d, want 90", got)
		}
	})
	t.Run("in the fallback of the store, when that is back", func(t *testing.T) {
		local, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		store := &scripted{err: errDown}
		m := mustNew(t, httplimit.Config{
			Store: storekit.WithFallback(store, local, 1), Expose: true,
			Rules: []httplimit.Rule{costs(10, limiter.PerDay(100))},
		})
		ctx := exposed(t, m, t.Context())
		spend(t, ctx, 5)
		store.fail(nil)
		asked := len(store.charges())
		spend(t, ctx, -7)
		if got := len(store.charges()); got != asked {
			t.Errorf("the store was asked for %d charges more, want none", got-asked)
		}
		store.fail(errDown)
		if got := remaining(t, m, "ip"); got != 92 {
			t.Errorf("remaining in this process: got %d, want 92", got)
		}
	})
	t.Run("in the store that was configured then", func(t *testing.T) {
		first, second := &scripted{}, &scripted{}
		cfg := httplimit.Config{Store: first, Expose: true, Rules: []httplimit.Rule{costs(10, limiter.PerDay(100))}}
		m := mustNew(t, cfg)
		ctx := exposed(t, m, t.Context())
		cfg.Store = second
		if err := m.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		spend(t, ctx, -4)
		if got := [2]int{len(first.charges()), len(second.charges())}; got != [2]int{2, 0} {
			t.Errorf("charges of the two stores: got %v, want 2 and 0", got)
		}
	})
	t.Run("to the rule of the innermost Middleware", func(t *testing.T) {
		outer, inner := &scripted{}, &scripted{}
		rules := []httplimit.Rule{costs(10, limiter.PerDay(100))}
		around := mustNew(t, httplimit.Config{Store: outer, Expose: true, Rules: rules})
		m := mustNew(t, httplimit.Config{Store: inner, Expose: true, Rules: rules})
		spend(t, exposed(t, m, exposed(t, around, t.Context())), -4)
		if got := [2]int{len(outer.charges()), len(inner.charges())}; got != [2]int{1, 2} {
			t.Errorf("charges of the two stores: got %v, want 1 and 2", got)
		}
	})
}

// The handler has returned, the client has left, and other requests use the memory of the decision.
func TestSpendGivesBackAfterTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{costs(10, limiter.PerDay(100))}})
		var kept context.Context
		h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { kept = r.Context() }))
		ctx, leave := context.WithCancel(t.Context())
		serveOne(h, "192.0.2.1:1", ctx)
		mine := kept
		leave()
		for range 8 {
			serveOne(h, "192.0.2.99:1", t.Context())
		}
		spend(t, mine, -7)
		if got := remaining(t, m, "ip"); got != 97 {
			t.Errorf("remaining: got %d, want 97", got)
		}
		v, err := m.Peek(t.Context(), "ip", "192.0.2.99")
		if err != nil || v.Remaining != 20 {
			t.Errorf("remaining of the other client: got %d, %v, want 20", v.Remaining, err)
		}
	})
}

func serveOne(h http.Handler, address string, ctx context.Context) {
	r := get().WithContext(ctx)
	r.RemoteAddr = address
	h.ServeHTTP(&discard{header: http.Header{}}, r)
}

// discard is an answer that nobody reads.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(text []byte) (int, error) { return len(text), nil }
func (d *discard) WriteHeader(int)                {}

func TestSpendsAtOnceGiveBackOnce(t *testing.T) {
	var balance atomic.Int64 // units that the store holds
	store := &scripted{answer: func(c *limiter.Charge) { balance.Add(c.Cost) }}
	rule := costs(40, limiter.PerDay(1000))
	rule.CountStatus = func(int) bool { return false }
	m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{rule}})
	o := m.Check(httplimit.HTTPRequest(get()))
	ctx := o.Context()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for j := range 10 {
				n := int64(-2)
				if (i+j)%4 == 0 {
					n = 1
				}
				if err := httplimit.Spend(ctx, "ip", n); err != nil {
					t.Error(err)
				}
				httplimit.Verdicts(ctx)
			}
		})
	}
	all.Go(func() { o.Settle(200) })
	all.Wait()
	spend(t, ctx, -1_000_000)
	var back int64
	for _, c := range store.charges() {
		back -= min(0, c.Cost)
	}
	if want := int64(40 + 160); balance.Load() != want || back != want {
		t.Errorf("charged %d and given back %d, want both to be %d", balance.Load(), back, want)
	}
}

// A stream that spends with each chunk keeps some moments, not thousands, and still gives back to the right windows.
func TestSpendsOfALongStream(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{
		limiter.SlidingWindow, limiter.FixedWindow, limiter.SlidingLog, limiter.TokenBucket, limiter.StrictWindow,
	} {
		t.Run(algorithm.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := limiter.Limit{Requests: 100_000, Window: time.Hour, Algorithm: algorithm}
				memory, err := memstore.New(memstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				store := &counting{Store: memory}
				m := mustNew(t, httplimit.Config{Store: store, Expose: true, Rules: []httplimit.Rule{costs(1, limit)}})
				ctx := exposed(t, m, t.Context())
				random := rand.New(rand.NewPCG(1, 2))
				for range 2000 {
					spend(t, ctx, 1+random.Int64N(9))
					time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
				}
				spend(t, ctx, -1_000_000)
				if store.largest > 33 {
					t.Errorf("one refund had %d charges, want at most 33", store.largest)
				}
				if got := remaining(t, m, "ip"); got != 100_000 {
					t.Errorf("remaining: got %d, want 100,000", got)
				}
			})
		})
	}
}

// Beyond the moments that are kept, those of one window become one before those of two do, and what lies in two windows
// is given back to the first: never to a window where others have spent.
func TestSpendsOfALongStreamAtWindowBoundaries(t *testing.T) {
	for _, tc := range []struct {
		name   string
		window time.Duration // 31 spends of 1, 10 s apart, and then one at the end of a window, and two in the next
		want   int64         // used in that one: 5 of another request, and what does not come back
	}{
		{"many in one window", 10 * time.Minute, 5},
		{"each in one of its own", time.Second, 5 + 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := limiter.Limit{Requests: 1000, Window: tc.window, Algorithm: limiter.FixedWindow}
				m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{costs(5, limit)}})
				ctx := exposed(t, m, t.Context())
				for range 31 {
					spend(t, ctx, 1)
					time.Sleep(10 * time.Second)
				}
				const boundary = 10 * time.Minute
				time.Sleep(boundary - 310*time.Second - time.Millisecond)
				spend(t, ctx, 1)
				time.Sleep(time.Millisecond)
				spend(t, ctx, 1)
				_ = exposed(t, m, t.Context())
				time.Sleep(100 * time.Millisecond)
				spend(t, ctx, 1)
				spend(t, ctx, -1000)
				if got := 1000 - remaining(t, m, "ip"); got != tc.want {
					t.Errorf("used: got %d, want %d", got, tc.want)
				}
			})
		})
	}
}

// counting is a store that remembers its largest batch.
type counting struct {
	limiter.Store
	largest int
}

func (c *counting) Take(ctx context.Context, charges []limiter.Charge) (bool, error) {
	c.largest = max(c.largest, len(charges))
	return c.Store.Take(ctx, charges)
}

// Streams that run at once are held to the limit if each pays the most that it may cost, and gives back the rest.
func TestPayingFirstHoldsStreamsAtOnceToTheLimit(t *testing.T) {
	const most, limit = 500, 1000
	synctest.Test(t, func(t *testing.T) {
		m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{costs(most, limiter.PerDay(limit))}})
		var streams sync.WaitGroup
		var passed atomic.Int64
		h := m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed.Add(1)
			time.Sleep(time.Minute)
			spend(t, r.Context(), 200-most)
		}))
		for range 20 {
			streams.Go(func() { serveOne(h, "192.0.2.1:1", t.Context()) })
		}
		streams.Wait()
		if got := passed.Load(); got != 2 {
			t.Errorf("streams of 500 tokens at once within 1,000: got %d, want 2", got)
		}
		if got := remaining(t, m, "ip"); got != 600 {
			t.Errorf("remaining: got %d, want 600: two have used 200 each", got)
		}
	})
}
