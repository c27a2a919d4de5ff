package otellimit_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestInstruments: names, kinds, units and attributes are those of the README's table, and there are no others.
func TestInstruments(t *testing.T) {
	o, collect := newObserver(t)
	store := &away{servers: []limiter.ServerStats{
		{Address: "cache:6379", Calls: 3, Callers: 5, FlightSizes: [9]uint64{2, 0, 1}},
	}}
	shop := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX("a", limiter.PerDay(9))}})
	accounts := newMiddleware(t, httplimit.Config{
		Observer: o, Store: store, Rules: []httplimit.Rule{perX("b", limiter.PerDay(9))},
	})
	o.Watch(shop, accounts)
	for _, m := range []*httplimit.Middleware{shop, accounts} {
		send(t.Context(), m.Handler(http.HandlerFunc(ok)), "ann")
	}

	var got []string
	for name, m := range collect() {
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", name, kind(t, m), m.Unit, strings.Join(shortKeys(m), ", "))
		got = append(got, strings.Replace(row, "|  |", "| |", 1)) // no unit
	}
	slices.Sort(got)
	want := table(t)
	if !slices.Equal(got, want) {
		t.Errorf("the metrics are\n%s\nand in the table\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// kind returns the kind of a metric. All sums only grow.
func kind(t *testing.T, m metricdata.Metrics) string {
	t.Helper()
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		if !data.IsMonotonic {
			t.Errorf("%s may shrink", m.Name)
		}
		return "counter"
	case metricdata.Gauge[int64]:
		return "gauge"
	case metricdata.Histogram[float64]:
		return "histogram"
	}
	t.Errorf("%s is a %T", m.Name, m.Data)
	return ""
}

// shortKeys returns the keys of a metric's attributes without their "httplimit.".
func shortKeys(m metricdata.Metrics) (all []string) {
	for _, key := range keys(m) {
		short, has := strings.CutPrefix(key, "httplimit.")
		if !has {
			short = "NOT OURS: " + key
		}
		all = append(all, short)
	}
	return all
}

// table returns the first columns of the README's table of metrics, sorted, with the keys in each row sorted.
func table(t *testing.T) (rows []string) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(readme)) {
		columns := strings.Split(line, "|")
		if !strings.HasPrefix(line, "| `httplimit.") || len(columns) < 6 { // another table
			continue
		}
		attributes := strings.Split(strings.TrimSpace(columns[4]), ", ")
		slices.Sort(attributes)
		rows = append(rows, strings.TrimRight(strings.Join(columns[:4], "|"), " ")+
			" | "+strings.Join(attributes, ", ")+" |")
	}
	slices.Sort(rows)
	return rows
}

// TestValues: what was counted arrives, with the attributes that it belongs to.
func TestValues(t *testing.T) {
	o, collect := newObserver(t)
	login := perX("login", limiter.PerDay(4))
	login.CountStatus = func(int) bool { return false }
	login.Cost = func(*http.Request) (int64, error) { return 3, nil }
	trial := perX("trial", limiter.PerDay(1))
	trial.Shadow = true
	all := perX("all", limiter.PerDay(2))
	m := newMiddleware(t, httplimit.Config{Namespace: "shop", Observer: o, Rules: []httplimit.Rule{login, trial, all}})
	o.Watch(m)
	for range 3 {
		send(t.Context(), m.Handler(http.HandlerFunc(ok)), "ann")
	}
	got := collect()
	for name, want := range map[string]map[string]int64{
		"decisions": {
			"namespace=shop result=allowed rule.name=login source=store":        3,
			"namespace=shop result=refused rule.name=login source=store":        0,
			"namespace=shop result=allowed rule.name=trial source=store":        1,
			"namespace=shop result=shadow_refused rule.name=trial source=store": 2,
			"namespace=shop result=allowed rule.name=all source=store":          2,
			"namespace=shop result=refused rule.name=all source=store":          1,
		},
		"requests": {"outcome=passed": 2, "outcome=refused": 1, "outcome=unavailable": 0},
		"cost": {
			"namespace=shop result=allowed rule.name=login":        6,
			"namespace=shop result=refused rule.name=login":        0,
			"namespace=shop result=allowed rule.name=trial":        1,
			"namespace=shop result=shadow_refused rule.name=trial": 2,
			"namespace=shop result=allowed rule.name=all":          2,
			"namespace=shop result=refused rule.name=all":          1,
		},
		"refunded": {
			"namespace=shop result=allowed rule.name=login": 6,
			"namespace=shop result=allowed rule.name=trial": 0,
			"namespace=shop result=allowed rule.name=all":   0,
		},
		"near_limit": {
			"namespace=shop rule.name=login": 0,
			"namespace=shop rule.name=trial": 1,
			"namespace=shop rule.name=all":   1,
		},
		"rule.limit": {
			"limit=4/d namespace=shop rule.name=login": 4,
			"limit=1/d namespace=shop rule.name=trial": 1,
			"limit=2/d namespace=shop rule.name=all":   2,
		},
		"store.capacity": {"store=memstore-1": 1 << 20},
	} {
		if got := points(t, got["httplimit."+name]); !maps.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
	if _, told := got["httplimit.store.duration"]; told {
		t.Error("the time of a store in memory was recorded")
	}
}

// TestCollectTwice: each collection has all that was counted by then.
func TestCollectTwice(t *testing.T) {
	o, collect := newObserver(t)
	h := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX("a", limiter.PerDay(1))}}).
		Handler(http.HandlerFunc(ok))
	for round := range int64(3) {
		send(t.Context(), h, "ann")
		passed := points(t, collect()["httplimit.requests"])
		if passed["outcome=passed"] != 1 || passed["outcome=refused"] != round {
			t.Errorf("round %d: got %v", round, passed)
		}
	}
}

// TestFlightSizes: what the store counted since the last collection, in the right buckets, adding up to the callers.
func TestFlightSizes(t *testing.T) {
	o, collect := newObserver(t)
	store := &away{}
	o.Watch(newMiddleware(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{perX("a", limiter.PerDay(9))}}))
	for i, round := range []struct {
		counts  [9]uint64
		callers uint64
		want    []uint64 // cumulated over the collections
		sum     float64
	}{
		{[9]uint64{}, 0, nil, 0},
		{[9]uint64{8, 2, 3, 0, 1, 0, 2}, 140, []uint64{8, 2, 3, 0, 1, 0, 2, 0, 0}, 140},
		{[9]uint64{9, 2, 3, 0, 1, 0, 2, 1}, 240, []uint64{9, 2, 3, 0, 1, 0, 2, 1, 0}, 240},
		{[9]uint64{9, 2, 3, 0, 1, 0, 2, 1}, 240, []uint64{9, 2, 3, 0, 1, 0, 2, 1, 0}, 240},
		{[9]uint64{1}, 1, []uint64{10, 2, 3, 0, 1, 0, 2, 1, 0}, 241}, // a new store
		// A sample of 1000 in place of 40,000, three quarters of which are of 1 and a quarter of 3 callers.
		{[9]uint64{30_001, 0, 10_000}, 60_001, []uint64{760, 2, 253, 0, 1, 0, 2, 1, 0}, 241 + 750 + 250*3},
	} {
		store.servers = []limiter.ServerStats{{Address: "cache:6379", Callers: round.callers, FlightSizes: round.counts}}
		p := histogram(t, metricOf(collect(), "store.flight.size"))["server=cache:6379 store=accounts"]
		if !slices.Equal(p.BucketCounts, round.want) || p.Sum < round.sum-0.001 || p.Sum > round.sum+0.001 {
			t.Errorf("collection %d: got %v, %v together, want %v, %v", i, p.BucketCounts, p.Sum, round.want, round.sum)
		}
	}
}

// overtaken is a store whose first Stats are known when those of another collection have been told already: or soon,
// where that waits for the first one.
type overtaken struct {
	away
	flights       atomic.Uint64
	asked, passed chan struct{}
}

func (s *overtaken) Stats() limiter.StoreStats {
	n := s.flights.Add(8)
	if n == 8 {
		close(s.asked)
		select {
		case <-s.passed:
		case <-time.After(100 * time.Millisecond):
		}
	}
	return limiter.StoreStats{Servers: []limiter.ServerStats{{Address: "a:1", Callers: n, FlightSizes: [9]uint64{n}}}}
}

// TestCollectionsAtOnce: of two readers that collect at once none has flights counted again.
func TestCollectionsAtOnce(t *testing.T) {
	first, second := metric.NewManualReader(), metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(first), metric.WithReader(second))
	o, err := otellimit.New(otellimit.Config{MeterProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	store := &overtaken{asked: make(chan struct{}), passed: make(chan struct{})}
	o.Watch(newMiddleware(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{perX("a", limiter.PerDay(9))}}))
	var both sync.WaitGroup
	both.Go(func() { collected(t, first) })
	<-store.asked
	both.Go(func() {
		collected(t, second)
		close(store.passed)
	})
	both.Wait()
	flights := store.flights.Load() + 8 // and those that this collection adds
	for _, p := range histogram(t, collected(t, first)["httplimit.store.flight.size"]) {
		if p.Count != flights {
			t.Errorf("%d flights were recorded, want %d", p.Count, flights)
		}
	}
}

// metricOf returns a metric, or an empty histogram where nothing was recorded yet.
func metricOf(all map[string]metricdata.Metrics, name string) metricdata.Metrics {
	m, recorded := all["httplimit."+name]
	if !recorded {
		m.Data = metricdata.Histogram[float64]{}
	}
	return m
}

// TestStoreDuration: one time for each request that asked, also of several rules, by what came of it.
func TestStoreDuration(t *testing.T) {
	o, collect := newObserver(t)
	rules := []httplimit.Rule{perX("a", limiter.PerDay(2)), perX("b", limiter.PerDay(0))}
	rules[1].Shadow = true
	memory := newMiddleware(t, httplimit.Config{Rules: rules}).Config().Store
	good := newMiddleware(t, httplimit.Config{Observer: o, Store: remote{memory}, Rules: rules})
	bad := newMiddleware(t, httplimit.Config{Observer: o, Store: &away{}, Rules: rules})
	for range 3 {
		send(t.Context(), good.Handler(http.HandlerFunc(ok)), "ann")
		send(t.Context(), bad.Handler(http.HandlerFunc(ok)), "ann")
	}
	o.Observe(context.Background(), &httplimit.Observation{Store: 51 * time.Millisecond, Remote: true})
	o.Observe(context.Background(), &httplimit.Observation{Remote: true})
	got := histogram(t, collect()["httplimit.store.duration"])
	if got["outcome=ok"].Count != 4 || got["outcome=error"].Count != 3 || got["outcome=ok"].BucketCounts[9] != 1 {
		t.Errorf("got %+v, want 4 answers, one of them in the bucket up to 100 ms, and 3 failures", got)
	}
	want := []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1}
	if bounds := got["outcome=ok"].Bounds; !slices.Equal(bounds, want) {
		t.Errorf("bounds: got %v, want %v", bounds, want)
	}
}
