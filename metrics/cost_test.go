package metrics_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/metrics"
)

// observation is what an Observer is told of a request that all of so many rules allow.
func observation(rules int) *httplimit.Observation {
	o := &httplimit.Observation{
		Request: httplimit.HTTPRequest(nil), Namespace: "shop", Store: 180 * time.Microsecond, Remote: true,
	}
	for i := range rules {
		o.Rules = append(o.Rules, httplimit.Observed{
			Verdict: httplimit.Verdict{
				Rule: fmt.Sprintf("rule-%02d", i), Limit: limiter.PerMinute(100), Cost: 1, Source: httplimit.SourceStore,
				Decision: limiter.Decision{Allowed: true, Remaining: 40},
			},
			Result: httplimit.ResultAllowed,
		})
	}
	return o
}

// TestAllocations: to count allocates nothing.
func TestAllocations(t *testing.T) {
	c, o := metrics.New(), observation(3)
	change := httplimit.CostChange{Namespace: "shop", Rule: "rule-01", Result: httplimit.ResultAllowed, Units: -3}
	c.Observe(context.Background(), o)
	if got := testing.AllocsPerRun(1000, func() {
		c.Observe(context.Background(), o)
		c.ObserveCost(context.Background(), change)
	}); got != 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func BenchmarkObserve(b *testing.B) {
	for _, rules := range []int{1, 3, 20} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			c, ctx := metrics.New(), context.Background()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				o := observation(rules)
				for pb.Next() {
					c.Observe(ctx, o)
				}
			})
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	c := metrics.New()
	c.Observe(context.Background(), observation(20))
	b.ReportAllocs()
	for b.Loop() {
		c.Snapshot()
	}
}
