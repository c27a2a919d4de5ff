package otellimit_test

import (
	"testing"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// reporting is a store with these Stats.
type reporting struct {
	away
	stats limiter.StoreStats
}

func (r *reporting) Stats() limiter.StoreStats { return r.stats }

// TestCountersOfReplacedStores: they go on where those of the old store ended, and none is ever told as below zero.
func TestCountersOfReplacedStores(t *testing.T) {
	for temporality, want := range map[metricdata.Temporality][3]int64{
		metricdata.CumulativeTemporality: {9, 11, 12},
		metricdata.DeltaTemporality:      {9, 2, 1},
	} {
		t.Run(temporality.String(), func(t *testing.T) {
			reader := metric.NewManualReader(metric.WithTemporalitySelector(
				func(metric.InstrumentKind) metricdata.Temporality { return temporality }))
			o, err := otellimit.New(otellimit.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
			if err != nil {
				t.Fatal(err)
			}
			cfg := httplimit.Config{Rules: []httplimit.Rule{perX("a", limiter.PerDay(1))}}
			m := newMiddleware(t, cfg)
			o.Watch(m)
			for i, n := range []uint64{9, 2, 3} {
				cfg.Store = &reporting{stats: limiter.StoreStats{
					Name: "s", Capacity: 1, Evicted: n, Overflowed: n,
					Servers: []limiter.ServerStats{{Address: "a:1", Calls: 2 * n, Failed: n}},
				}}
				if err := m.Reconfigure(cfg); err != nil {
					t.Fatal(err)
				}
				got := collected(t, reader)
				for name, series := range map[string]string{
					"evicted": "store=s", "overflowed": "store=s", "calls": "outcome=error server=a:1 store=s",
				} {
					if told := points(t, got["httplimit.store."+name])[series]; told != want[i] {
						t.Errorf("collection %d: %s is %d, want %d", i, name, told, want[i])
					}
				}
			}
		})
	}
}
