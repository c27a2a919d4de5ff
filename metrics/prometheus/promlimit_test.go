package promlimit_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	promlimit "github.com/httplimit/httplimit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func newObserver(t *testing.T, r prometheus.Registerer) *promlimit.Observer {
	t.Helper()
	o, err := promlimit.New(promlimit.Config{Registerer: r})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func newMiddleware(t *testing.T, cfg httplimit.Config) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ok(http.ResponseWriter, *http.Request) {}

// send serves a request of that client and returns the status.
func send(h http.Handler, client string) int {
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	r.Header.Set("X", client)
	h.ServeHTTP(w, r)
	return w.Code
}

// scrape returns what Prometheus would get.
func scrape(t *testing.T, g prometheus.Gatherer) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(g, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("the scrape failed: status %d, %v, %s", w.Code, err, text)
	}
	return text
}

// check fails for each series that the scrape does not have with this value.
func check(t *testing.T, text []byte, series ...string) {
	t.Helper()
	for _, want := range series {
		if !strings.Contains("\n"+string(text), "\n"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Logf("the scrape:\n%s", text)
	}
}

func TestNewFaults(t *testing.T) {
	if _, err := promlimit.New(promlimit.Config{Registerer: (*prometheus.Registry)(nil)}); err == nil ||
		!strings.Contains(err.Error(), "Registerer is a nil *prometheus.Registry") {
		t.Errorf("a nil Registry: got %v, want an error that names Registerer", err)
	}
	registry := prometheus.NewRegistry()
	newObserver(t, registry)
	if _, err := promlimit.New(promlimit.Config{Registerer: registry}); err == nil ||
		!strings.Contains(err.Error(), "the Registerer has an Observer already") {
		t.Errorf("a second Observer: got %v, want an error that says that one is enough", err)
	}

	odd := prometheus.NewRegistry()
	odd.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "httplimit_rule_limit", Help: "Something else."}))
	if _, err := promlimit.New(promlimit.Config{Registerer: odd}); err == nil ||
		!strings.Contains(err.Error(), "the Registerer refuses") {
		t.Errorf("a name that is taken: got %v, want an error", err)
	}
}

func TestTheDefaultRegisterer(t *testing.T) {
	o, err := promlimit.New(promlimit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX(limiter.PerDay(1))}})
	send(m.Handler(http.HandlerFunc(ok)), "ann")
	check(t, scrape(t, prometheus.DefaultGatherer), `httplimit_requests_total{outcome="passed"} 1`)
}

// TestZeroObserver: one that New has not made breaks no request.
func TestZeroObserver(t *testing.T) {
	o := new(promlimit.Observer)
	m := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX(limiter.PerDay(1))}})
	o.Watch(m)
	if status := send(m.Handler(http.HandlerFunc(ok)), "ann"); status != http.StatusOK {
		t.Errorf("got status %d, want 200", status)
	}
}

func perX(l limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: "client", Key: httplimit.Header("X"), Limit: l}
}

// TestTwoMiddlewares with equal rules over two stores of one kind, under load: the scrape works, and its sums are those
// of what clients have seen.
func TestTwoMiddlewares(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(t, registry)
	var passed, refused atomic.Int64
	var sending sync.WaitGroup
	for range 2 {
		m := newMiddleware(t, httplimit.Config{
			Namespace: "shop", Observer: o, Rules: []httplimit.Rule{perX(limiter.PerDay(30))},
		})
		o.Watch(m)
		h := m.Handler(http.HandlerFunc(ok))
		for range 4 {
			sending.Go(func() {
				for i := range 100 {
					if send(h, fmt.Sprint(i%5)) == http.StatusOK {
						passed.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
	}
	sending.Wait()
	if passed.Load() != 2*5*30 || refused.Load() != 800-300 {
		t.Fatalf("%d passed and %d were refused, want 300 and 500", passed.Load(), refused.Load())
	}
	check(t, scrape(t, registry),
		`httplimit_decisions_total{namespace="shop",result="allowed",rule="client",source="store"} 300`,
		`httplimit_decisions_total{namespace="shop",result="refused",rule="client",source="store"} 500`,
		`httplimit_requests_total{outcome="passed"} 300`,
		`httplimit_requests_total{outcome="refused"} 500`,
		`httplimit_rule_limit{limit="30/d",namespace="shop",rule="client"} 30`,
		`httplimit_rule_degraded{namespace="shop",policy="fail-local",rule="client"} 0`,
		`httplimit_store_entries{store="memstore-1"} 5`,
		`httplimit_store_entries{store="memstore-2"} 5`,
	)
}

// TestReconfigure: counters live on, gauges follow.
func TestReconfigure(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(t, registry)
	m := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX(limiter.PerDay(3))}})
	o.Watch(m, m)
	h := m.Handler(http.HandlerFunc(ok))
	send(h, "ann")
	err := m.Reconfigure(httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX(limiter.PerDay(9))}})
	if err != nil {
		t.Fatal(err)
	}
	send(h, "ann")
	text := scrape(t, registry)
	check(t, text,
		`httplimit_decisions_total{namespace="",result="allowed",rule="client",source="store"} 2`,
		`httplimit_rule_limit{limit="9/d",namespace="",rule="client"} 9`,
	)
	if strings.Contains(string(text), `limit="3/d"`) {
		t.Error("the old limit is still told")
	}
}

// TestKeysMakeNoSeries: after a million random keys there are as many series as before.
func TestKeysMakeNoSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(t, registry)
	m := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX(limiter.PerDay(1))}})
	o.Watch(m)
	const manyKeys = 1_000_000
	series := func() int {
		n, err := testutil.GatherAndCount(registry)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	h, before := m.Handler(http.HandlerFunc(ok)), series()
	r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	for range manyKeys {
		r.Header["X"] = []string{strconv.FormatUint(rand.Uint64(), 36)}
		clear(w.Header()) // the fields of several answers would add up
		h.ServeHTTP(w, r)
	}
	if after := series(); after != before {
		t.Errorf("%d series before, %d after", before, after)
	}
	check(t, scrape(t, registry), fmt.Sprintf(`httplimit_requests_total{outcome="passed"} %v`, float64(manyKeys)))
}

// TestLabelsThatAreNone of an Observation that httplimit did not make fail the scrape with an error, and nothing else.
func TestLabelsThatAreNone(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(t, registry)
	o.Observe(t.Context(), &httplimit.Observation{
		Namespace: "\xff", Rules: []httplimit.Observed{{Result: httplimit.ResultAllowed}},
	})
	if _, err := registry.Gather(); err == nil {
		t.Error("no error of a namespace that is no text")
	}
}
