package promlimit_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	promlimit "github.com/httplimit/httplimit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

var update = flag.Bool("update", false, "write what was got to testdata")

const golden = "testdata/metrics.txt"

// TestExposition: every metric, its type, its help and its labels are those of the golden file, and the linter of
// Prometheus finds nothing to say about them.
func TestExposition(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(t, registry)
	watchEverything(t, o)
	observeEverything(o)

	got := scrape(t, registry)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the text differs from %s, which -update writes:\n%s", golden, got)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("promlint: %s: %s", p.Metric, p.Text)
	}
}

// TestTable: the README's table has the metrics of the golden file, their types and labels, and no others.
func TestTable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(readme)) {
		if columns := strings.Split(line, " | "); strings.HasPrefix(line, "| `httplimit_") {
			labels := strings.Split(columns[2], ", ")
			slices.Sort(labels)
			got = append(got, fmt.Sprint(strings.Trim(columns[0], "| `"), columns[1], labels))
		}
	}
	slices.Sort(got)
	if want := families(t); !slices.Equal(got, want) {
		t.Errorf("the table has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

var (
	typeLine = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)\n[^{]*\{([^}]*)\}`)
	label    = regexp.MustCompile(`(\w+)="`)
)

// families returns the names, types and labels of the golden file's metrics.
func families(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range typeLine.FindAllStringSubmatch(string(text), -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(family[3], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		slices.Sort(labels)
		all = append(all, fmt.Sprint(family[1], family[2], labels))
	}
	slices.Sort(all)
	return all
}

// watchEverything has o watch a Middleware over a store in memory and one over a store that is away.
func watchEverything(t *testing.T, o *promlimit.Observer) {
	t.Helper()
	memory, err := memstore.New(memstore.Config{Name: "visits", MaxKeys: 1000})
	if err != nil {
		t.Fatal(err)
	}
	client := httplimit.Rule{
		Name: "client", Key: httplimit.Header("X"), Limit: limiter.PerMinute(100),
		Plans: []limiter.Limit{{Algorithm: limiter.TokenBucket, Requests: 20, Window: time.Second, Burst: 40}},
	}
	trial := httplimit.Rule{Name: "trial", Key: httplimit.Header("X"), Limit: limiter.PerHour(10), Shadow: true}
	shop := newMiddleware(t, httplimit.Config{Namespace: "shop", Store: memory, Rules: []httplimit.Rule{client, trial}})
	login := httplimit.Rule{
		Name: "login", Key: httplimit.Header("X"), Limit: limiter.PerMinute(5), Failure: httplimit.FailClosed,
	}
	accounts := newMiddleware(t, httplimit.Config{Store: away{}, Rules: []httplimit.Rule{login}})
	o.Watch(shop, accounts)
	for _, m := range []*httplimit.Middleware{shop, accounts} {
		send(m.Handler(http.HandlerFunc(ok)), "ann") // leaves a counter in the one, and a degraded rule in the other
	}
}

// away is a store whose server does not answer.
type away struct{}

func (away) Take(context.Context, []limiter.Charge) (bool, error) {
	return false, errors.New("no answer")
}
func (away) Reset(context.Context, []limiter.Charge) error { return errors.New("no answer") }

func (away) Stats() limiter.StoreStats {
	return limiter.StoreStats{Name: "accounts", Servers: []limiter.ServerStats{
		{
			Address: "cache1:6379", Healthy: true, Calls: 17, Failed: 2, Callers: 300, Waiting: 3,
			FlightSizes: [9]uint64{8, 2, 3, 0, 1, 0, 2, 0, 1},
		},
		{Address: "cache2:6379", Calls: 5, Failed: 5, Callers: 5, FlightSizes: [9]uint64{5}},
	}}
}

// observeEverything tells o of requests with every kind of result.
func observeEverything(o *promlimit.Observer) {
	const near = 19 // of 100
	observe := func(status int, store time.Duration, rules ...httplimit.Observed) {
		o.Observe(context.Background(), &httplimit.Observation{
			Request: httplimit.HTTPRequest(nil), Namespace: "shop", Status: status,
			Store: store, Remote: store > 0, Rules: rules,
		})
	}
	client := func(result httplimit.Result, source httplimit.Source, cost, remaining int64) httplimit.Observed {
		return httplimit.Observed{Result: result, Verdict: httplimit.Verdict{
			Rule: "client", Limit: limiter.PerMinute(100), Cost: cost, Source: source,
			Decision: limiter.Decision{Remaining: remaining},
		}}
	}
	trial := func(result httplimit.Result, source httplimit.Source) httplimit.Observed {
		return httplimit.Observed{Result: result, Verdict: httplimit.Verdict{
			Rule: "trial", Limit: limiter.PerHour(10), Cost: 1, Source: source,
			Decision: limiter.Decision{Remaining: 8},
		}}
	}
	const (
		store, cache, local, none = httplimit.SourceStore, httplimit.SourceCache, httplimit.SourceLocal, httplimit.SourceNone
	)
	observe(0, 0)
	observe(0, 90*time.Microsecond, client(httplimit.ResultAllowed, store, 3, 60), trial(httplimit.ResultAllowed, store))
	observe(0, 100*time.Microsecond,
		client(httplimit.ResultAllowed, store, 1, near), trial(httplimit.ResultShadowRefused, store))
	observe(429, 2*time.Millisecond, client(httplimit.ResultRefused, store, 5, 1), trial(httplimit.ResultAllowed, store))
	observe(429, 0, client(httplimit.ResultRefused, cache, 5, 1), trial(httplimit.ResultUnjudged, none))
	observe(429, 200*time.Microsecond, client(httplimit.ResultBanned, store, 1, 0))
	observe(0, 51*time.Millisecond, client(httplimit.ResultAllowed, local, 1, 0), trial(httplimit.ResultOpen, none))
	observe(503, time.Second, client(httplimit.ResultClosed, none, 1, 0))
	for _, units := range []int64{7, -2} {
		o.ObserveCost(context.Background(), httplimit.CostChange{
			Namespace: "shop", Rule: "client", Result: httplimit.ResultAllowed, Units: units,
		})
	}
}
