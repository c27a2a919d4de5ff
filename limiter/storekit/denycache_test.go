package storekit_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// refused is a charge as a store leaves it when the server refused it.
func refused(key string, retry time.Duration) limiter.Charge {
	return limiter.Charge{
		Scope: "s", Key: key, Limit: limiter.PerMinute(10), Cost: 1,
		State:    limiter.State{At: 1000, Current: 10, Previous: 3},
		Decision: limiter.Decision{Remaining: 0, RetryAfter: retry, ResetAfter: 700 * ms},
	}
}

// unanswered returns c as its caller hands it in.
func unanswered(c limiter.Charge) limiter.Charge {
	c.State, c.Decision = limiter.State{}, limiter.Decision{}
	return c
}

func TestDenyCacheAnswersFor(t *testing.T) {
	for _, tc := range []struct {
		name  string
		retry time.Duration
		at    time.Duration // the call took from 100 ms to 110 ms
		want  bool
	}{
		{"right after", 300 * ms, 110 * ms, true},
		{"to the last moment, from before the call", 300 * ms, 400*ms - 1, true},
		{"not until the end of the call and the wait", 300 * ms, 400 * ms, false},
		{"long waits for one second", time.Hour, 1100*ms - 1, true},
		{"and no longer", time.Hour, 1100 * ms, false},
		{"what can never be", limiter.Never, 1100*ms - 1, true},
		{"what can never be, bounded", limiter.Never, 1100 * ms, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := storekit.NewDenyCache(0)
			learned := refused("k", tc.retry)
			d.Learn([]limiter.Charge{learned}, false, 100*ms, 110*ms)
			if got := d.Answer([]limiter.Charge{unanswered(learned)}, tc.at); got != tc.want {
				t.Errorf("answered: got %v, want %v", got, tc.want)
			}
		})
	}
}

// What is charged for a short while is neither learnt nor answered: another process may have freed it.
func TestDenyCacheLeavesBriefChargesAlone(t *testing.T) {
	for _, learnt := range []bool{true, false} {
		d := storekit.NewDenyCache(0)
		learned := refused("k", time.Hour)
		learned.Brief = learnt
		d.Learn([]limiter.Charge{learned}, false, 100*ms, 110*ms)
		asked := unanswered(learned)
		asked.Brief = !learnt
		if d.Answer([]limiter.Charge{asked}, 110*ms) {
			t.Errorf("learnt with Brief %v, asked with %v: answered from memory", learned.Brief, asked.Brief)
		}
	}
}

func TestDenyCacheDecision(t *testing.T) {
	d := storekit.NewDenyCache(0)
	learned := refused("k", 900*ms)
	d.Learn([]limiter.Charge{learned}, false, 100*ms, 110*ms)
	for _, tc := range []struct{ at, retry, reset time.Duration }{
		{105 * ms, 900 * ms, 700 * ms}, // learnt by another caller before this reading
		{110 * ms, 900 * ms, 700 * ms},
		{111*ms - 1, 900 * ms, 700 * ms}, // waits are rounded up
		{111 * ms, 899 * ms, 699 * ms},
		{960 * ms, 50 * ms, 0},
	} {
		batch := []limiter.Charge{unanswered(learned)}
		if !d.Answer(batch, tc.at) {
			t.Fatalf("at %v: not answered", tc.at)
		}
		want := limiter.Decision{RetryAfter: tc.retry, ResetAfter: tc.reset}
		if got := batch[0].Decision; got != want {
			t.Errorf("at %v:\n got %+v\nwant %+v", tc.at, got, want)
		}
		if got := batch[0].State; got != learned.State {
			t.Errorf("at %v: state %+v, want %+v", tc.at, got, learned.State)
		}
	}
}

func TestDenyCacheNeverStaysNever(t *testing.T) {
	d := storekit.NewDenyCache(0)
	batch := []limiter.Charge{refused("k", limiter.Never)}
	d.Learn(batch, false, 0, 0)
	if !d.Answer(batch, 500*ms) || batch[0].RetryAfter != limiter.Never {
		t.Errorf("RetryAfter: got %v, want Never", batch[0].RetryAfter)
	}
}

func TestDenyCacheAnswersOnlyEqualCharges(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*limiter.Charge)
		want   bool
	}{
		{"the same", func(*limiter.Charge) {}, true},
		{"another state handed in", func(c *limiter.Charge) { c.At = 5 }, true},
		{"another key", func(c *limiter.Charge) { c.Key = "other" }, false},
		{"another scope", func(c *limiter.Charge) { c.Scope = "other" }, false},
		{"scope and key cut elsewhere", func(c *limiter.Charge) { c.Scope, c.Key = "sk", "" }, false},
		{"another window", func(c *limiter.Charge) { c.Limit.Window = time.Hour }, false},
		{"another algorithm", func(c *limiter.Charge) { c.Limit.Algorithm = limiter.FixedWindow }, false},
		{"another limit", func(c *limiter.Charge) { c.Limit.Requests++ }, false},
		{"another burst", func(c *limiter.Charge) { c.Limit.Burst++ }, false},
		{"a lower cost", func(c *limiter.Charge) { c.Cost = 0 }, false},
		{"a higher cost", func(c *limiter.Charge) { c.Cost = 2 }, false},
		{"a refund", func(c *limiter.Charge) { c.Cost = -1 }, false},
		{"a peek", func(c *limiter.Charge) { c.Mode = limiter.Peek }, false},
		{"a shadow one", func(c *limiter.Charge) { c.Mode = limiter.Shadow }, false},
		{"a forced one", func(c *limiter.Charge) { c.Mode = limiter.Force }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := storekit.NewDenyCache(0)
			d.Learn([]limiter.Charge{refused("k", time.Second)}, false, 0, 0)
			c := unanswered(refused("k", 0))
			tc.change(&c)
			if got := d.Answer([]limiter.Charge{c}, 1); got != tc.want {
				t.Errorf("answered: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestDenyCacheLearnsOnly(t *testing.T) {
	allowed := refused("k", 0)
	allowed.Allowed = true
	peek, shadow := refused("k", time.Second), refused("k", time.Second)
	peek.Mode, shadow.Mode = limiter.Peek, limiter.Shadow
	for _, tc := range []struct {
		name  string
		batch []limiter.Charge
		taken bool
		want  bool
	}{
		{"a refusal", []limiter.Charge{refused("k", time.Second)}, false, true},
		{"beside another charge", []limiter.Charge{refused("other", time.Second), refused("k", time.Second)}, false, true},
		{"not what was taken", []limiter.Charge{refused("k", time.Second)}, true, false},
		{"not what was allowed", []limiter.Charge{refused("other", time.Second), allowed}, false, false},
		{"not a peek", []limiter.Charge{peek}, false, false},
		{"not a shadow charge", []limiter.Charge{shadow}, false, false},
		{"not on top of its own batch", []limiter.Charge{allowed, refused("k", time.Second)}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := storekit.NewDenyCache(0)
			d.Learn(tc.batch, tc.taken, 0, 0)
			if got := d.Answer([]limiter.Charge{unanswered(refused("k", 0))}, 1); got != tc.want {
				t.Errorf("answered: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestDenyCacheRefusesTheWholeBatch(t *testing.T) {
	d := storekit.NewDenyCache(0)
	d.Learn([]limiter.Charge{refused("k", time.Second)}, false, 0, 0)
	batch := []limiter.Charge{refused("other", time.Second), unanswered(refused("k", 0))}
	if !d.Answer(batch, 1) {
		t.Fatal("not answered")
	}
	want := limiter.Decision{Allowed: true}
	if got := batch[0]; got.Decision != want || got.State != (limiter.State{}) {
		t.Errorf("the charge that was not judged: got %+v from %+v, want %+v from nothing", got.Decision, got.State, want)
	}
	if batch[1].Allowed || batch[1].RetryAfter != time.Second {
		t.Errorf("the remembered charge: got %+v, want it refused for 1s", batch[1].Decision)
	}
	if !batch[0].Cached || !batch[1].Cached {
		t.Errorf("marked as cached: %v and %v, want both", batch[0].Cached, batch[1].Cached)
	}
	refund := unanswered(refused("other", 0))
	refund.Cost = -1
	if d.Answer([]limiter.Charge{refund, unanswered(refused("k", 0))}, 1) {
		t.Error("a batch that gives something back was refused from memory")
	}
}

func TestDenyCacheForgets(t *testing.T) {
	refund := unanswered(refused("k", 0))
	refund.Cost, refund.Limit.Requests = -3, 99 // another limit, the same counter
	for _, tc := range []struct {
		name   string
		forget func(*storekit.DenyCache)
		want   bool
	}{
		{"after a refund", func(d *storekit.DenyCache) { d.Learn([]limiter.Charge{refund}, true, 10, 20) }, false},
		{"after a refund that may have failed", func(d *storekit.DenyCache) {
			d.Forget([]limiter.Charge{refund}, 20)
		}, false},
		{"after a reset", func(d *storekit.DenyCache) { d.Drop(&refund, 20) }, false},
		{"not after a charge", func(d *storekit.DenyCache) {
			d.Forget([]limiter.Charge{unanswered(refused("k", 0))}, 20)
		}, true},
		{"not after a refund of another", func(d *storekit.DenyCache) {
			other := refund
			other.Key = "other"
			d.Forget([]limiter.Charge{other}, 20)
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := storekit.NewDenyCache(0)
			two := refused("k", time.Second)
			two.Cost = 2
			d.Learn([]limiter.Charge{refused("k", time.Second)}, false, 0, 5)
			d.Learn([]limiter.Charge{two}, false, 0, 5)
			tc.forget(d)
			for _, c := range []limiter.Charge{unanswered(refused("k", 0)), unanswered(two)} {
				if got := d.Answer([]limiter.Charge{c}, 30); got != tc.want {
					t.Errorf("cost %d answered: got %v, want %v", c.Cost, got, tc.want)
				}
			}
		})
	}
}

func TestDenyCacheDoesNotLearnFromBeforeAReset(t *testing.T) {
	c := refused("k", time.Second)
	for _, tc := range []struct {
		name   string
		before time.Duration
		want   bool
	}{
		{"decided during the reset", 15, false},
		{"at its end", 20, false},
		{"after it", 21, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := storekit.NewDenyCache(8) // one set: an older reset must not replace a newer one
			d.Drop(&c, 20)
			d.Drop(&c, 10)
			d.Learn([]limiter.Charge{c}, false, tc.before, 30)
			if got := d.Answer([]limiter.Charge{unanswered(c)}, 40); got != tc.want {
				t.Errorf("answered: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestDenyCacheIsBounded(t *testing.T) {
	const entries = 64
	d := storekit.NewDenyCache(entries)
	key := func(i int) string { return fmt.Sprint("flood", i) }
	for i := range 100 * entries {
		d.Learn([]limiter.Charge{refused(key(i), time.Second)}, false, time.Duration(i), time.Duration(i))
	}
	held := 0
	for i := range 100 * entries {
		if d.Answer([]limiter.Charge{unanswered(refused(key(i), 0))}, 100*entries) {
			held++
		}
	}
	if held == 0 || held > entries {
		t.Errorf("answers held: got %d, want 1 to %d", held, entries)
	}
}

func TestDenyCacheReplacesRefusalsThatAreOver(t *testing.T) {
	d := storekit.NewDenyCache(8) // one set
	for i := range 7 {
		d.Learn([]limiter.Charge{refused(fmt.Sprint("long", i), time.Second)}, false, 0, 0)
	}
	d.Learn([]limiter.Charge{refused("short", 10*ms)}, false, 0, 0)
	d.Learn([]limiter.Charge{refused("new", time.Second)}, false, 20*ms, 20*ms)
	for i := range 7 {
		if !d.Answer([]limiter.Charge{unanswered(refused(fmt.Sprint("long", i), 0))}, 20*ms) {
			t.Errorf("long%d was overwritten although another refusal was over", i)
		}
	}
	if !d.Answer([]limiter.Charge{unanswered(refused("new", 0))}, 20*ms) {
		t.Error("the new answer was not kept")
	}
}

func TestDenyCacheNone(t *testing.T) {
	d := storekit.NewDenyCache(-1)
	c := refused("k", time.Second)
	d.Learn([]limiter.Charge{c}, false, 0, 0)
	d.Drop(&c, 0)
	d.Forget([]limiter.Charge{c}, 0)
	if d.Answer([]limiter.Charge{c}, 0) {
		t.Error("a cache of no entries answered")
	}
}

func TestDenyCacheUnderLoad(t *testing.T) {
	d := storekit.NewDenyCache(16)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 10_000 {
				now := time.Duration(i)
				c := refused(fmt.Sprint(i%32), time.Second)
				switch (i + g) % 4 {
				case 0:
					d.Learn([]limiter.Charge{c}, false, now, now)
				case 1:
					d.Drop(&c, now)
				default:
					batch := []limiter.Charge{unanswered(c)}
					if d.Answer(batch, now) && batch[0].Allowed {
						t.Error("an answer from memory is no refusal")
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestDenyCacheAnswersWithoutAllocation(t *testing.T) {
	d := storekit.NewDenyCache(0)
	d.Learn([]limiter.Charge{refused("k", time.Second)}, false, 0, 0)
	hit, miss := []limiter.Charge{unanswered(refused("k", 0))}, []limiter.Charge{unanswered(refused("other", 0))}
	allocations := testing.AllocsPerRun(100, func() {
		if !d.Answer(hit, 1) || d.Answer(miss, 1) {
			t.Error("wrong answer")
		}
	})
	if allocations != 0 {
		t.Errorf("allocations: got %v, want 0", allocations)
	}
}

func BenchmarkDenyCacheAnswer(b *testing.B) {
	for _, held := range []int{1, 50_000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			d := storekit.NewDenyCache(0)
			for i := held - 1; i >= 0; i-- { // the one asked for last, so that it is there
				d.Learn([]limiter.Charge{refused(fmt.Sprint("192.0.2.", i), time.Second)}, false, 0, 0)
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				batch := []limiter.Charge{unanswered(refused("192.0.2.0", 0))}
				for pb.Next() {
					if !d.Answer(batch, 1) {
						b.Fatal("not answered")
					}
				}
			})
		})
	}
}
