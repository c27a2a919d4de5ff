package otellimit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
)

func TestNewFaults(t *testing.T) {
	_, err := otellimit.New(otellimit.Config{MeterProvider: (*metric.MeterProvider)(nil)})
	if err == nil || !strings.Contains(err.Error(), "MeterProvider is a nil *metric.MeterProvider") {
		t.Errorf("a nil MeterProvider: got %v, want an error that names it", err)
	}
}

// TestTheGlobalProvider may be set after New.
func TestTheGlobalProvider(t *testing.T) {
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	o, err := otellimit.New(otellimit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := newMiddleware(t, httplimit.Config{Observer: o, Rules: []httplimit.Rule{perX("a", limiter.PerDay(2))}})
	send(t.Context(), m.Handler(http.HandlerFunc(ok)), "ann")
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	if got := points(t, collected(t, reader)["httplimit.requests"])["outcome=passed"]; got != 1 {
		t.Errorf("got %d requests, want 1", got)
	}
}

// TestAllocations: to count allocates nothing, and neither does the time of a call to a store.
func TestAllocations(t *testing.T) {
	o, _ := newObserver(t)
	observed := &httplimit.Observation{
		Store: 180 * time.Microsecond, Remote: true, Namespace: "shop",
		Rules: []httplimit.Observed{
			{Result: httplimit.ResultAllowed, Verdict: httplimit.Verdict{Rule: "a", Cost: 1, Source: httplimit.SourceStore}},
			{Result: httplimit.ResultAllowed, Verdict: httplimit.Verdict{Rule: "b", Cost: 2, Source: httplimit.SourceStore}},
		},
	}
	o.Observe(context.Background(), observed)
	if got := testing.AllocsPerRun(1000, func() { o.Observe(context.Background(), observed) }); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func BenchmarkObserve(b *testing.B) {
	for name, remote := range map[string]bool{"store=memory": false, "store=remote": true} {
		b.Run(name, func(b *testing.B) {
			o, err := otellimit.New(otellimit.Config{
				MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader())),
			})
			if err != nil {
				b.Fatal(err)
			}
			observed := &httplimit.Observation{
				Store: 180 * time.Microsecond, Remote: remote, Namespace: "shop", Rules: []httplimit.Observed{{
					Result: httplimit.ResultAllowed, Verdict: httplimit.Verdict{Rule: "a", Cost: 1, Source: httplimit.SourceStore},
				}},
			}
			b.ReportAllocs()
			for b.Loop() {
				o.Observe(context.Background(), observed)
			}
		})
	}
}

// TestZeroObserver: one that New has not made breaks no request, also where it would record the time of a call.
func TestZeroObserver(t *testing.T) {
	o := new(otellimit.Observer)
	m := newMiddleware(t, httplimit.Config{
		Observer: o, Store: &away{}, Rules: []httplimit.Rule{perX("a", limiter.PerDay(1))},
	})
	o.Watch(m)
	if status := send(t.Context(), m.Handler(http.HandlerFunc(ok)), "ann"); status != http.StatusOK {
		t.Errorf("got status %d, want 200", status)
	}
}
