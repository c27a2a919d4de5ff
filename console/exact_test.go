package console

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// decided is a decision of a rule; left is how much of 100 is left.
func decided(rule string, result httplimit.Result, left int64) httplimit.Observed {
	return httplimit.Observed{
		Verdict: httplimit.Verdict{Rule: rule, Limit: limiter.PerMinute(100), Source: httplimit.SourceStore,
			Decision: limiter.Decision{Allowed: result == httplimit.ResultAllowed, Remaining: left}},
		Result: result, Key: "203.0.113.7",
	}
}

// Each request is counted once, by what became of it, whatever its rules say and however many there are.
func TestRequestsAreCountedOnce(t *testing.T) {
	const ok, tooMany, away = 0, http.StatusTooManyRequests, http.StatusServiceUnavailable
	type results []httplimit.Result
	for _, test := range []struct {
		status int
		rules  results
		want   requestCounts
	}{
		{ok, nil, requestCounts{Passed: 1}},
		{tooMany, nil, requestCounts{Refused: 1}},
		{away, nil, requestCounts{Unavailable: 1}},
		{ok, results{httplimit.ResultAllowed, httplimit.ResultAllowed}, requestCounts{Passed: 1}},
		{ok, results{httplimit.ResultShadowRefused}, requestCounts{Passed: 1}},
		{ok, results{httplimit.ResultOpen, httplimit.ResultAllowed}, requestCounts{Passed: 1}},
		{tooMany, results{httplimit.ResultAllowed, httplimit.ResultRefused}, requestCounts{Refused: 1}},
		{tooMany, results{httplimit.ResultRefused, httplimit.ResultRefused}, requestCounts{Refused: 1}},
		{tooMany, results{httplimit.ResultUnjudged, httplimit.ResultBanned}, requestCounts{Refused: 1}},
		{tooMany, results{httplimit.ResultAllowed}, requestCounts{Refused: 1}}, // the rule does not say so
		{away, results{httplimit.ResultOpen, httplimit.ResultClosed}, requestCounts{Unavailable: 1}},
		{away, results{httplimit.ResultAllowed}, requestCounts{Unavailable: 1}},
		{ok, results{httplimit.ResultRefused, httplimit.ResultClosed}, requestCounts{Passed: 1}},
	} {
		t.Run(fmt.Sprint(test.status, test.rules), func(t *testing.T) {
			c := newConsole(t)
			o := &httplimit.Observation{Status: test.status}
			for i, result := range test.rules {
				o.Rules = append(o.Rules, decided(fmt.Sprint("rule ", i), result, 5*int64(i%2*10)))
			}
			c.Observe(t.Context(), o)
			seen := c.take(c.second() + 1)
			if seen.Requests.Last != test.want {
				t.Errorf("got %+v, want %+v", seen.Requests.Last, test.want)
			}
			for i, row := range seen.Rules {
				if row.Last.Total() != 1 {
					t.Errorf("rule %d: got %+v, want one decision", i, row.Last)
				}
			}
		})
	}
}

func newConsole(t *testing.T) *Console {
	t.Helper()
	c, err := New(Config{Viewer: LocalOnly})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What is near its limit is allowed too.
func TestNearIsAllowed(t *testing.T) {
	c := newConsole(t)
	for _, left := range []int64{80, 10, 10} {
		c.Observe(t.Context(), &httplimit.Observation{
			Rules: []httplimit.Observed{decided("address", httplimit.ResultAllowed, left)},
		})
	}
	row := c.take(c.second() + 1).Rules[0]
	if want := (counts{Allowed: 3, NearLimit: 2, ByStore: 3}); row.Last != want || row.Last.Passed() != 3 {
		t.Errorf("got %+v, want %+v", row.Last, want)
	}
}

// While somebody else holds every lock of the counters, decisions are counted all the same, in their own seconds.
func TestObserveWaitsForNobody(t *testing.T) {
	c := newConsole(t)
	results := []httplimit.Observed{
		decided("address", httplimit.ResultAllowed, 80), decided("address", httplimit.ResultAllowed, 10),
		decided("address", httplimit.ResultRefused, 0),
	}
	observe := func(after int) {
		for _, r := range results {
			c.Observe(t.Context(), &httplimit.Observation{
				Time: c.started.Add(time.Duration(after) * time.Second), Rules: []httplimit.Observed{r},
			})
		}
	}
	observe(0)
	s := c.series.all()[0]
	locks := []*sync.Mutex{&c.series.mu, &s.history.mu, &c.others.mu}
	for _, sketch := range []*sketch{s.refused.sketch.Load(), s.near.sketch.Load()} {
		for i := range sketch.shards {
			locks = append(locks, &sketch.shards[i].mu)
		}
	}
	for held, name := range []string{"all locks", "those of the histories"} {
		mine := locks
		if held == 1 {
			mine = locks[:3]
		}
		for _, lock := range mine {
			lock.Lock()
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			observe(1 + held*20)
			observe(2 + held*20)
		}()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatalf("Observe waits for %s", name)
		}
		for _, lock := range mine {
			lock.Unlock()
		}
	}
	seconds := make([]tally, 30)
	s.read(uint32(c.startedNano/int64(time.Second)), seconds)
	for i, n := range seconds {
		want := counts{}
		if i <= 2 || i == 21 || i == 22 {
			want = counts{Allowed: 2, NearLimit: 1, Refused: 1, ByStore: 3}
		}
		if n.counts() != want {
			t.Errorf("second %d: got %+v, want %+v", i, n.counts(), want)
		}
	}
}

// A refusal that comes a little late still stands in its own second.
func TestLateRefusals(t *testing.T) {
	c := newConsole(t)
	for _, after := range []int{0, 1, 0, 3, 2, 3} {
		c.Observe(t.Context(), &httplimit.Observation{
			Status: http.StatusTooManyRequests, Time: c.started.Add(time.Duration(after) * time.Second),
			Rules: []httplimit.Observed{decided("address", httplimit.ResultRefused, 0)},
		})
	}
	for range 2 { // reading moves counts, and does not count them twice
		seconds := make([]tally, 4)
		c.series.all()[0].read(uint32(c.startedNano/int64(time.Second)), seconds)
		for i, want := range []uint64{2, 1, 1, 2} {
			if seconds[i][refusedStore] != want || seconds[i][refused] != want {
				t.Errorf("second %d: got %v, want %d", i, seconds[i], want)
			}
		}
	}
}

// Several Middlewares, each with two rules, are told of by goroutines while time goes on and somebody reads. At no time
// is more to be seen than there was, nor less than was seen before, and at the end all of it is.
func TestObserveParallel(t *testing.T) {
	const goroutines, seconds, each = 4, 60, 300
	c := newConsole(t)
	var begun atomic.Int64
	var now atomic.Int64 // seconds since the start
	observe := func(namespace string) {
		for i := range each {
			first, second := httplimit.ResultAllowed, httplimit.ResultAllowed
			status := 0
			if i%3 == 0 {
				status, second = http.StatusTooManyRequests, httplimit.ResultRefused
			}
			o := &httplimit.Observation{
				Namespace: namespace, Status: status,
				Time:  c.started.Add(time.Duration(now.Load()-int64(i%2)) * time.Second), // some are late
				Rules: []httplimit.Observed{decided("one", first, int64(i%30)), decided("two", second, 50)},
			}
			o.Rules[1].Key = fmt.Sprint(i % 200)
			begun.Add(1)
			c.Observe(t.Context(), o)
		}
	}
	read := func() (requests requestCounts, decisions uint64) {
		o := c.take(c.second() + seconds + 5)
		for _, row := range o.Rules {
			decisions += row.Last.Total()
		}
		return o.Requests.Last, decisions
	}
	var seen uint64
	for range seconds {
		now.Add(1)
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() { observe([]string{"shop", "blog"}[g%2]) })
		}
		for range 3 {
			requests, _ := read()
			if total := requests.Total(); total < seen || total > uint64(begun.Load()) {
				t.Errorf("got %d requests, want at least %d and at most %d", total, seen, begun.Load())
			} else {
				seen = total
			}
		}
		wg.Wait()
	}
	const all = goroutines * seconds * each
	requests, decisions := read()
	if want := (requestCounts{Passed: all * 2 / 3, Refused: all / 3}); requests != want || decisions != 2*all {
		t.Errorf("got %+v and %d decisions, want %+v and %d", requests, decisions, want, 2*all)
	}
}

// A series that has given way counts nothing any more, and its rule has a new one.
func TestSeriesThatHasGivenWay(t *testing.T) {
	var table seriesTable
	const second = 1_800_000_000
	first := table.of("shop", "address", 0, second)
	if first.giveWay(second + keptSeconds) {
		t.Error("a series gives way while it is shown")
	}
	if later := uint32(second + 2*keptSeconds); !first.giveWay(later) || first.see(later) {
		t.Error("a series that has given way still counts")
	}
	table.now.Store(&seriesList{}) // as add does
	if again := table.of("shop", "address", 0, second+2*keptSeconds); again == nil || again == first {
		t.Errorf("got the series %p after %p, want a new one", again, first)
	}
}
