package console

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// Each pair of Result and Source is counted where the page looks for it.
func TestObserveCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerMinute(10)))
		want := counts{}
		for _, test := range []struct {
			result httplimit.Result
			source httplimit.Source
			n      int
			to, by *uint64
		}{
			{httplimit.ResultAllowed, httplimit.SourceStore, 1, &want.Allowed, &want.ByStore},
			{httplimit.ResultAllowed, httplimit.SourceLocal, 2, &want.Allowed, &want.ByLocal},
			{httplimit.ResultRefused, httplimit.SourceStore, 3, &want.Refused, &want.ByStore},
			{httplimit.ResultRefused, httplimit.SourceCache, 4, &want.Refused, &want.ByCache},
			{httplimit.ResultRefused, httplimit.SourceLocal, 5, &want.Refused, &want.ByLocal},
			{httplimit.ResultShadowRefused, httplimit.SourceStore, 6, &want.ShadowRefused, &want.ByStore},
			{httplimit.ResultShadowRefused, httplimit.SourceCache, 7, &want.ShadowRefused, &want.ByCache},
			{httplimit.ResultShadowRefused, httplimit.SourceLocal, 8, &want.ShadowRefused, &want.ByLocal},
			{httplimit.ResultBanned, httplimit.SourceStore, 9, &want.Banned, &want.ByStore},
			{httplimit.ResultBanned, httplimit.SourceCache, 10, &want.Banned, &want.ByCache},
			{httplimit.ResultOpen, httplimit.SourceNone, 11, &want.Open, &want.ByNone},
			{httplimit.ResultClosed, httplimit.SourceNone, 12, &want.Closed, &want.ByNone},
			{httplimit.ResultUnjudged, httplimit.SourceNone, 13, &want.Unjudged, &want.ByNone},
		} {
			o := observation(test.result, 50, 1)[0]
			o.Rules[0].Source = test.source
			for range test.n {
				s.Observe(t.Context(), o)
			}
			*test.to += uint64(test.n)
			*test.by += uint64(test.n)
		}
		time.Sleep(time.Second)
		row := s.snapshot().Rules[0]
		if row.Now != want || row.Last != want {
			t.Errorf("got now %+v and last %+v, want %+v", row.Now, row.Last, want)
		}
		if row.Now.Total() != 91 || row.Now.Turned() != 12+19+12 || row.Now.Passed() != 3+21+11 {
			t.Errorf("got %d in all, %d turned away, %d passed", row.Now.Total(), row.Now.Turned(), row.Now.Passed())
		}
		time.Sleep(nowSeconds * time.Second)
		if row = s.snapshot().Rules[0]; row.Now != (counts{}) || row.Last != want || row.LastRefused == nil {
			t.Errorf("ten seconds later: got now %+v, last %+v, last refused %v", row.Now, row.Last, row.LastRefused)
		}
		time.Sleep(keptSeconds * time.Second)
		if row = s.snapshot().Rules[0]; row.Last != (counts{}) || row.LastRefused != nil {
			t.Errorf("15 minutes later: got %+v, last refused %v", row.Last, row.LastRefused)
		}
	})
}

// Buckets are whole, the latest is over, and together with what came after they have all.
func TestSeriesAtBoundaries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(1e6)))
		for second := range 25 {
			for range second + 1 {
				s.request("192.0.2.7")
			}
			time.Sleep(time.Second)
		}
		// The clock of a bubble begins at a round second, so there are two whole buckets and five seconds more.
		q := s.snapshot().Requests
		n := len(q.Series.Passed)
		if n != buckets || q.Series.Passed[n-1] != 155 || q.Series.Passed[n-2] != 55 || q.Series.Passed[n-3] != 0 {
			t.Errorf("got %v, want 155 in the last bucket and 55 before", q.Series.Passed[n-3:])
		}
		if q.Last.Passed != 325 || q.Now.Passed != 205 || q.Window.LastSeconds != 25 {
			t.Errorf("got %+v, want 325 in 25 s and 205 in the last ten", q)
		}
	})
}

func TestNearLimit(t *testing.T) {
	for _, test := range []struct {
		limit     limiter.Limit
		remaining int64
		want      bool
	}{
		{limiter.PerMinute(100), 20, false}, {limiter.PerMinute(100), 19, true}, {limiter.PerMinute(1), 0, true},
		{limiter.PerMinute(4), 1, false}, {limiter.PerMinute(6), 1, true},
		{limiter.Limit{Algorithm: limiter.TokenBucket, Requests: 1, Window: time.Second, Burst: 100}, 19, true},
		{limiter.Limit{Algorithm: limiter.TokenBucket, Requests: 100, Window: time.Second, Burst: 10}, 2, false},
		{limiter.PerDay(1e9), 2e8, false},
	} {
		var o httplimit.Observed
		o.Limit, o.Remaining = test.limit, test.remaining
		if got := isNear(&o); got != test.want {
			t.Errorf("%d left of %v: got %v, want %v", test.remaining, test.limit, got, test.want)
		}
	}
}

// Two Middlewares with the same rules over one store are one, those of another Namespace are not.
func TestTwoMiddlewares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(5)))
		cfg := s.limits.Config()
		same, err := httplimit.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Namespace = "other"
		other, err := httplimit.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.Watch(same, other, nil, s.limits, same)
		for _, m := range []*httplimit.Middleware{s.limits, same, other} {
			if _, err := m.Allow(t.Context(), "address", "192.0.2.7"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		o := s.snapshot()
		if len(o.Rules) != 2 || o.Rules[0].Now.Allowed != 2 || o.Rules[1].Now.Allowed != 1 || len(o.Stores) != 1 ||
			o.Process.Watched != 3 {
			t.Errorf("got %+v and %+v, %d stores, %d Middlewares",
				o.Rules[0].Now, o.Rules[1].Now, len(o.Stores), o.Process.Watched)
		}
		mustContain(t, s.get("rule?id="+ruleID("shop", "address")), "by 2 Middlewares")
		f := s.lookUp(t.Context(), o, query{rule: o.watch.rules[0], key: "192.0.2.7"})
		if len(f.Results) != 1 || f.Results[0].Verdicts[0].Remaining != 3 {
			t.Errorf("got %+v, want one answer of the one store", f.Results)
		}
	})
}

// A rule that nobody watches is counted all the same, and the page says that it is not known.
func TestUnwatchedRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Viewer: func(*http.Request) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		s := &site{Console: c}
		mustContain(t, s.get(""), "No rule is known yet")
		for _, o := range observation(httplimit.ResultRefused, 0, 3) {
			s.Observe(t.Context(), o)
		}
		time.Sleep(time.Second)
		mustContain(t, s.get(""), "not watched", "203.0.0.1")
		mustContain(t, s.get("rule?id="+ruleID("shop", "address")), "was not told to <code>Watch</code>")
		c.Watch(new(httplimit.Middleware), nil) // the zero Middleware has no rules
		time.Sleep(time.Second)
		for _, page := range []string{"", "stores", "config", "clients", "activity"} {
			mustContain(t, s.get(page))
		}
	})
}

// TestTooManyRules: a rule that finds no room is not counted, its requests are, and the page says so; what nothing was
// counted of for as long as the page shows gives way, so that a service may rename its rules as often as it likes.
func TestTooManyRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(5)))
		o := observation(httplimit.ResultAllowed, 50, 1)[0]
		count := func(from, to int) {
			for i := range to - from {
				o.Time, o.Rules[0].Rule = time.Time{}, fmt.Sprint("rule ", from+i)
				s.Observe(t.Context(), o)
			}
		}
		const notCounted = "more rules than this page counts"
		count(0, maxSeries)
		if page := s.get(""); strings.Contains(page.Body.String(), notCounted) {
			t.Error("the page says that rules are not counted, and all are")
		}
		count(maxSeries, maxSeries+10)
		if n := len(s.series.all()); n != maxSeries {
			t.Errorf("got %d rules, want %d", n, maxSeries)
		}
		time.Sleep(time.Second)
		mustContain(t, s.get(""), notCounted)
		if n := s.snapshot().Requests.Last.Total(); n != maxSeries+10 {
			t.Errorf("got %d requests, want %d, those of rules that are not counted too", n, maxSeries+10)
		}

		time.Sleep((keptSeconds + bucketSeconds) * time.Second)
		count(0, 1) // goes on
		time.Sleep(2 * time.Second)
		count(maxSeries, maxSeries+10)
		if n := len(s.series.all()); n != 11 {
			t.Errorf("got %d rules 15 minutes later, want the one that goes on and 10 new ones", n)
		}
		if page := s.get(""); strings.Contains(page.Body.String(), notCounted) {
			t.Error("the page still says that rules are not counted")
		}
	})
}

func TestObserveAllocs(t *testing.T) {
	c, err := New(Config{Viewer: LocalOnly})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, result := range []httplimit.Result{httplimit.ResultAllowed, httplimit.ResultRefused, httplimit.ResultBanned} {
		all := observation(result, 1, 5000)
		c.Observe(ctx, all[0])
		i := 0
		if n := testing.AllocsPerRun(20_000, func() { i++; c.Observe(ctx, all[i%len(all)]) }); n > 0 {
			t.Errorf("%v: got %v allocations, want none", result, n)
		}
	}
}

// A rule takes less than 1 MB after a million keys, refused and near their limits.
func TestHeapOfARule(t *testing.T) {
	c, err := New(Config{Viewer: LocalOnly})
	if err != nil {
		t.Fatal(err)
	}
	o := observation(httplimit.ResultRefused, 0, 1)[0]
	c.Observe(t.Context(), o) // what all rules share
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	o.Rules[0].Rule = "another"
	for i := range 1_000_000 {
		o.Rules[0].Key = fmt.Sprintf("%0100d", i)
		o.Rules[0].Result = httplimit.ResultRefused
		if i%2 == 0 {
			o.Rules[0].Result, o.Rules[0].Remaining = httplimit.ResultAllowed, 0
		}
		c.Observe(t.Context(), o)
	}
	if grown := heap() - before; grown > 1_000_000 {
		t.Errorf("got %d bytes for a rule, want at most 1,000,000", grown)
	} else {
		t.Logf("%d bytes for a rule", grown)
	}
	runtime.KeepAlive(c)
}

// wrapped is a store of a type that can be compared, whose values may hold what cannot.
type wrapped struct{ limiter.Store }

type uncomparable struct {
	limiter.Store
	_ []int
}

func TestStoreThatCannotBeCompared(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSiteOf(t, httplimit.Config{
		Store: wrapped{uncomparable{Store: store}},
		Rules: []httplimit.Rule{byAddress("one", limiter.PerDay(1)), byAddress("two", limiter.PerDay(1))},
	})
	mustContain(t, s.get(""), "one", "two")
}
