package otellimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// newObserver returns an Observer, and a function that collects its metrics by their names.
func newObserver(t *testing.T) (o *otellimit.Observer, collect func() map[string]metricdata.Metrics) {
	t.Helper()
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	o, err := otellimit.New(otellimit.Config{MeterProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	return o, func() map[string]metricdata.Metrics { return collected(t, reader) }
}

func collected(t *testing.T, reader metric.Reader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]metricdata.Metrics)
	for _, scope := range all.ScopeMetrics {
		if scope.Scope.Name != "github.com/httplimit/httplimit/metrics/otel" {
			t.Errorf("a scope of the name %q", scope.Scope.Name)
		}
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

func newMiddleware(t *testing.T, cfg httplimit.Config) *httplimit.Middleware {
	t.Helper()
	m, err := httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func perX(name string, l limiter.Limit) httplimit.Rule {
	return httplimit.Rule{Name: name, Key: httplimit.Header("X"), Limit: l}
}

func ok(http.ResponseWriter, *http.Request) {}

// send serves a request of that client with that context and returns the status.
func send(ctx context.Context, h http.Handler, client string) int {
	r, w := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx), httptest.NewRecorder()
	r.Header.Set("X", client)
	h.ServeHTTP(w, r)
	return w.Code
}

// points returns the numbers of a metric by their attributes, such as "result=allowed rule.name=a".
func points(t *testing.T, m metricdata.Metrics) map[string]int64 {
	t.Helper()
	var all []metricdata.DataPoint[int64]
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		all = data.DataPoints
	case metricdata.Gauge[int64]:
		all = data.DataPoints
	default:
		t.Fatalf("%q is a %T", m.Name, m.Data)
	}
	byText := make(map[string]int64)
	for _, p := range all {
		byText[text(p.Attributes)] = p.Value
	}
	return byText
}

// histogram returns the points of a histogram by their attributes.
func histogram(t *testing.T, m metricdata.Metrics) map[string]metricdata.HistogramDataPoint[float64] {
	t.Helper()
	data, is := m.Data.(metricdata.Histogram[float64])
	if !is {
		t.Fatalf("%q is a %T", m.Name, m.Data)
	}
	byText := make(map[string]metricdata.HistogramDataPoint[float64])
	for _, p := range data.DataPoints {
		byText[text(p.Attributes)] = p
	}
	return byText
}

// text returns attributes in the order of their keys, which are without their "httplimit.".
func text(set attribute.Set) string {
	var all []string
	for _, kv := range set.ToSlice() {
		all = append(all, fmt.Sprintf("%s=%s", strings.TrimPrefix(string(kv.Key), "httplimit."), kv.Value.String()))
	}
	return strings.Join(all, " ")
}

// keys returns the keys of the attributes of a metric's first point.
func keys(m metricdata.Metrics) (all []string) {
	var set attribute.Set
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		set = data.DataPoints[0].Attributes
	case metricdata.Gauge[int64]:
		set = data.DataPoints[0].Attributes
	case metricdata.Histogram[float64]:
		set = data.DataPoints[0].Attributes
	}
	for _, kv := range set.ToSlice() {
		all = append(all, string(kv.Key))
	}
	slices.Sort(all)
	return all
}

// away is a store whose servers do not answer, with these Stats.
type away struct{ servers []limiter.ServerStats }

func (*away) Take(context.Context, []limiter.Charge) (bool, error) {
	return false, errors.New("no answer")
}
func (*away) Reset(context.Context, []limiter.Charge) error { return errors.New("no answer") }
func (a *away) Stats() limiter.StoreStats {
	return limiter.StoreStats{Name: "accounts", Servers: a.servers}
}

// remote is a store in memory that httplimit takes for a server.
type remote struct{ limiter.Store }
