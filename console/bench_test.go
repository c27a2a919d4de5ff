package console

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func observation(result httplimit.Result, remaining int64, keys int) []*httplimit.Observation {
	all := make([]*httplimit.Observation, keys)
	status := 0
	if result == httplimit.ResultRefused {
		status = http.StatusTooManyRequests
	}
	for i := range all {
		all[i] = &httplimit.Observation{Namespace: "shop", Status: status, Time: time.Now(), Rules: []httplimit.Observed{{
			Verdict: httplimit.Verdict{Rule: "address", Limit: limiter.PerMinute(100), Cost: 1,
				Source:   httplimit.SourceStore,
				Decision: limiter.Decision{Allowed: result == httplimit.ResultAllowed, Remaining: remaining}},
			Result: result, Key: fmt.Sprintf("203.0.%d.%d", i/256, i%256),
		}}}
	}
	return all
}

// BenchmarkObserve is what Observe itself takes. One Observation is used again and again, as the Middleware does with
// those of its pool.
func BenchmarkObserve(b *testing.B) {
	for _, bench := range observeCases {
		b.Run(bench.name, func(b *testing.B) {
			c := newBenchConsole(b)
			o, keys := observation(bench.result, bench.remaining, 1)[0], newKeys(bench.keys)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				o.Rules[0].Key = keys.key()
				c.Observe(ctx, o)
			}
		})
	}
}

// BenchmarkObserveParallel is the same in as many goroutines as there are processors, each with an Observation of its
// own.
func BenchmarkObserveParallel(b *testing.B) {
	for _, bench := range observeCases {
		b.Run(bench.name, func(b *testing.B) {
			c := newBenchConsole(b)
			b.RunParallel(func(pb *testing.PB) {
				o, keys := observation(bench.result, bench.remaining, 1)[0], newKeys(bench.keys)
				ctx := context.Background()
				for pb.Next() {
					o.Rules[0].Key = keys.key()
					c.Observe(ctx, o)
				}
			})
		})
	}
}

var observeCases = []struct {
	name      string
	result    httplimit.Result
	remaining int64
	keys      int
}{
	{"allowed", httplimit.ResultAllowed, 50, 1},
	{"near/keys=1", httplimit.ResultAllowed, 1, 1},
	{"near/keys=64", httplimit.ResultAllowed, 1, 64},
	{"refused/keys=1", httplimit.ResultRefused, 0, 1},
	{"refused/keys=64", httplimit.ResultRefused, 0, 64},
	{"refused/keys=4096", httplimit.ResultRefused, 0, 1 << 12},
	{"refused/keys=new", httplimit.ResultRefused, 0, 1 << 20},
}

func newBenchConsole(b *testing.B) *Console {
	c, err := New(Config{Viewer: LocalOnly})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// keys gives one key after the other. Each is a piece of one text that begins a letter behind the one before: so they
// all differ, even by a million of them each comes as a new one, and choosing the next costs next to nothing. Its text
// is in the cache, as it is in a request, which has just been read.
type keys struct {
	text string
	next int
	mask int
	_    [104]byte // keeps what several goroutines use apart
}

const keyLength = 16

func newKeys(n int) *keys {
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, n+keyLength)
	for i := range text {
		text[i] = 'a' + byte(random.IntN(26))
	}
	return &keys{text: string(text), mask: n - 1}
}

func (k *keys) key() string {
	k.next = (k.next + 1) & k.mask
	return k.text[k.next : k.next+keyLength]
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

// BenchmarkCheck is a request without what net/http does: without an Observer, with one that does nothing, and with a
// Console. The last less the first is what a Console costs, with what the Middleware does to have it told.
func BenchmarkCheck(b *testing.B) {
	for _, bench := range []struct {
		name     string
		observer httplimit.Observer
	}{{"none", nil}, {"nobody", nobody{}}, {"console", newBenchConsole(b)}} {
		b.Run("observer="+bench.name, func(b *testing.B) {
			for _, limit := range []struct {
				name string
				limiter.Limit
				every int // how many requests a client sends one after the other
			}{
				{"allowed", limiter.PerSecond(1e9), 1 << 30}, {"refused", limiter.PerDay(1), 1 << 30},
				{"flood", limiter.PerDay(0), 1},
			} {
				b.Run(limit.name, func(b *testing.B) { check(b, bench.observer, limit.Limit, limit.every) })
			}
		})
	}
}

func check(b *testing.B, observer httplimit.Observer, limit limiter.Limit, every int) {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "customer", Key: httplimit.Header("X-Customer"), Limit: limit},
	}, Observer: observer, Headers: httplimit.NoHeaders})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	r, keys := httptest.NewRequest("GET", "/", nil), newKeys(1<<20)
	values := []string{keys.key()}
	r.Header["X-Customer"] = values
	i := 0
	for b.Loop() {
		if i++; i%every == 0 {
			values[0] = keys.key()
		}
		o := m.CheckHTTP(r, "", nil, nil)
		o.Settle(200)
		o.Release()
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
