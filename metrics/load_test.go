package metrics_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/metrics"
)

// TestSumsUnderLoad: with a deny cache, shadow and enforced rules together, nothing is counted twice or lost, however
// many requests come at once and whoever reads meanwhile.
func TestSumsUnderLoad(t *testing.T) {
	const workers, each, clients = 16, 500, 7
	c := metrics.New()
	// Timeout is real time: a busy machine is no outage.
	store := newKVStore(t, kvstore.Config{DenyCache: 64, Timeout: time.Minute})
	shadow := byHeader("shadow", "X", limiter.PerDay(3))
	shadow.Shadow = true
	some := byHeader("some", "X", limiter.PerDay(1000))
	some.When = func(r *http.Request) bool { return r.Header.Get("Some") != "" }
	h := newMiddleware(t, c, httplimit.Config{Store: store, Rules: []httplimit.Rule{
		shadow, byHeader("strict", "X", limiter.PerDay(20)), some, byHeader("wide", "X", limiter.PerDay(1_000_000)),
	}}).Handler(http.HandlerFunc(ok))

	var passed, refused, applied atomic.Uint64
	done := make(chan struct{})
	var reader, sending sync.WaitGroup
	reader.Go(func() { neverShrinks(t, c, done) })
	for worker := range workers {
		sending.Go(func() {
			for i := range each {
				fields := []string{"X", fmt.Sprint(i % clients)}
				if (worker+i)%3 == 0 {
					fields = append(fields, "Some", "yes")
					applied.Add(1)
				}
				if send(h, fields...) == http.StatusOK {
					passed.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	sending.Wait()
	close(done)
	reader.Wait()

	s := c.Snapshot()
	want := metrics.Requests{Passed: passed.Load(), Refused: refused.Load()}
	if s.Requests != want || want.Passed == 0 || want.Passed+want.Refused != workers*each {
		t.Errorf("requests: got %+v, want %+v, %d of them", s.Requests, want, workers*each)
	}
	var decided uint64
	for _, r := range s.Rules {
		decided += sum(r)
		requests := uint64(workers * each)
		if r.Name == "some" {
			requests = applied.Load()
		}
		if sum(r) != requests {
			t.Errorf("%s: %d decisions, want %d: %q", r.Name, sum(r), requests, decisions(r))
		}
	}
	if want := 3*workers*each + applied.Load(); decided != want {
		t.Errorf("%d decisions, want requests x rules that applied, %d", decided, want)
	}
	checkShadow(t, find(t, s, "", "shadow"), find(t, s, "", "strict"))
	checkCalls(t, s, store)
}

// checkShadow: where strict was refused from memory the shadow rule was not judged, and is not said to be allowed.
func checkShadow(t *testing.T, shadow, strict metrics.Rule) {
	t.Helper()
	cached := count(strict, httplimit.ResultRefused, httplimit.SourceCache)
	unjudged := count(shadow, httplimit.ResultUnjudged, httplimit.SourceNone)
	if cached == 0 || unjudged != cached {
		t.Errorf("%d requests were refused from memory and %d not judged in shadow, want as many, and more than none",
			cached, unjudged)
	}
	judged := count(shadow, httplimit.ResultAllowed, httplimit.SourceStore) +
		count(shadow, httplimit.ResultShadowRefused, httplimit.SourceStore)
	if judged != sum(shadow)-unjudged {
		t.Errorf("the shadow rule has %q, want allowed or shadow_refused by the store where it was judged",
			decisions(shadow))
	}
}

// checkCalls: the histogram has a time for each request that the store did not answer from memory.
func checkCalls(t *testing.T, s metrics.Snapshot, store *kvstore.Store) {
	t.Helper()
	asked := s.Requests.Passed + s.Requests.Refused - store.Stats().DenyCacheHits
	if got := s.StoreOK.Count(); got != asked || s.StoreFailed.Count() != 0 || s.StoreOK.Sum <= 0 {
		t.Errorf("the histogram has %d times of %v together and %d failures, want %d and none",
			got, s.StoreOK.Sum, s.StoreFailed.Count(), asked)
	}
}

// neverShrinks reads until done, and fails if a counter is below what it was before.
func neverShrinks(t *testing.T, c *metrics.Counters, done <-chan struct{}) {
	var last uint64
	for {
		select {
		case <-done:
			return
		default:
		}
		s := c.Snapshot()
		now := s.Requests.Passed + s.Requests.Refused + s.StoreOK.Count()
		for _, r := range s.Rules {
			now += sum(r) + r.NearLimit
		}
		if now < last {
			t.Errorf("the counters add up to %d, and to %d before", now, last)
			return
		}
		last = now
	}
}

func sum(r metrics.Rule) (n uint64) {
	for _, d := range r.Decisions {
		n += d.Count
	}
	return n
}

func count(r metrics.Rule, result httplimit.Result, source httplimit.Source) uint64 {
	for _, d := range r.Decisions {
		if d.Result == result && d.Source == source {
			return d.Count
		}
	}
	return 0
}

// TestManyRules: each is found, wherever it stands, also when others do not apply.
func TestManyRules(t *testing.T) {
	const rules = 40
	c := metrics.New()
	var all []httplimit.Rule
	for i := range rules {
		r := byHeader(fmt.Sprintf("rule-%02d", i), "X", limiter.PerDay(1000))
		r.When = func(q *http.Request) bool { return i%7 != 3 || q.Header.Get("All") != "" }
		all = append(all, r)
	}
	for _, namespace := range []string{"one", "two"} {
		h := newMiddleware(t, c, httplimit.Config{Namespace: namespace, Rules: all}).Handler(http.HandlerFunc(ok))
		send(h, "X", "ann")
		send(h, "X", "ann", "All", "yes")
		send(h, "X", "ann")
	}
	s := c.Snapshot()
	if len(s.Rules) != 2*rules {
		t.Fatalf("got %d rules, want %d", len(s.Rules), 2*rules)
	}
	for i, r := range s.Rules {
		want := uint64(3)
		if i%rules%7 == 3 {
			want = 1
		}
		if got := sum(r); got != want {
			t.Errorf("%s %s: got %d, want %d", r.Namespace, r.Name, got, want)
		}
	}
}

// TestKeysAreNotCountedApart: however many clients there are, a Snapshot has the same size.
func TestKeysAreNotCountedApart(t *testing.T) {
	c := metrics.New()
	h := newMiddleware(t, c, httplimit.Config{Rules: []httplimit.Rule{byHeader("a", "X", limiter.PerDay(1))}}).
		Handler(http.HandlerFunc(ok))
	size := func() int {
		s := c.Snapshot()
		return len(s.Rules) + len(s.Rules[0].Decisions) + len(s.Rules[0].Costs) + len(s.Stores) + len(s.Rules[0].Limits)
	}
	before := size()
	for i := range 20_000 {
		send(h, "X", fmt.Sprint(i))
	}
	if got := size(); got != before || sum(c.Snapshot().Rules[0]) != 20_000 {
		t.Errorf("after 20,000 clients the size is %d, want %d", got, before)
	}
}
