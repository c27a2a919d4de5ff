package console

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func observation(result httplimit.Result, remaining int64, keys int) []*httplimit.Observation {
	all := make([]*httplimit.Observation, keys)
	for i := range all {
		all[i] = &httplimit.Observation{Namespace: "shop", Time: time.Now(), Rules: []httplimit.Observed{{
			Verdict: httplimit.Verdict{Rule: "address", Limit: limiter.PerMinute(100), Cost: 1,
				Source:   httplimit.SourceStore,
				Decision: limiter.Decision{Allowed: result == httplimit.ResultAllowed, Remaining: remaining}},
			Result: result, Key: fmt.Sprintf("203.0.%d.%d", i/256, i%256),
		}}}
	}
	return all
}

func BenchmarkObserve(b *testing.B) {
	for _, bench := range []struct {
		name      string
		result    httplimit.Result
		remaining int64
		keys      int
	}{
		{"allowed", httplimit.ResultAllowed, 50, 1},
		{"near", httplimit.ResultAllowed, 1, 1},
		{"refused/keys=1", httplimit.ResultRefused, 0, 1},
		{"refused/keys=64", httplimit.ResultRefused, 0, 64},
		{"refused/keys=65536", httplimit.ResultRefused, 0, 1 << 16},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c, err := New(Config{Viewer: LocalOnly})
			if err != nil {
				b.Fatal(err)
			}
			all := observation(bench.result, bench.remaining, bench.keys)
			ctx := context.Background()
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				c.Observe(ctx, all[i&(len(all)-1)])
				i++
			}
		})
	}
}

func BenchmarkClock(b *testing.B) {
	t := time.Now()
	var x time.Duration
	for b.Loop() {
		x += time.Since(t)
	}
	_ = x
}

type nobody struct{}

func (nobody) Observe(context.Context, *httplimit.Observation) {}

func BenchmarkCheck(b *testing.B) {
	c, err := New(Config{Viewer: LocalOnly})
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name     string
		observer httplimit.Observer
		limit    limiter.Limit
	}{
		{"none/allowed", nil, limiter.PerSecond(1e9)}, {"none/refused", nil, limiter.PerDay(1)},
		{"nobody/allowed", nobody{}, limiter.PerSecond(1e9)}, {"nobody/refused", nobody{}, limiter.PerDay(1)},
		{"console/allowed", c, limiter.PerSecond(1e9)}, {"console/refused", c, limiter.PerDay(1)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
				{Name: "address", Key: httplimit.ClientIP(), Limit: bench.limit},
			}, Observer: bench.observer})
			if err != nil {
				b.Fatal(err)
			}
			r := httptest.NewRequest("GET", "/", nil)
			for b.Loop() {
				m.CheckHTTP(r, "", nil, nil).Settle(200)
			}
		})
	}
}

// BenchmarkTick is what a second costs while somebody looks, with all rules busy.
func BenchmarkTick(b *testing.B) {
	c, err := New(Config{Viewer: LocalOnly})
	if err != nil {
		b.Fatal(err)
	}
	for rule := range 20 {
		for _, result := range []httplimit.Result{httplimit.ResultAllowed, httplimit.ResultRefused} {
			for _, o := range observation(result, 50, 2000) {
				o.Rules[0].Rule = fmt.Sprint("rule ", rule)
				c.Observe(context.Background(), o)
			}
		}
	}
	second := c.second()
	b.ReportAllocs()
	for b.Loop() {
		second++
		o := c.take(second)
		c.fragments(o, "overview", "")
		c.streams.rows = nil // as if each row had changed
		c.streams.table.key = ""
	}
}
