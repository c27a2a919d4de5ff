package limiter_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

type vectorStep struct {
	At         int64 `json:"t_ms"`
	Cost       int64 `json:"cost"`
	Limit      int64 `json:"limit"`
	Allowed    bool  `json:"allowed"`
	Remaining  int64 `json:"remaining"`
	RetryAfter int64 `json:"retry_after_ms"`
	ResetAfter int64 `json:"reset_after_ms"`
}

type vectorCase struct {
	Name   string       `json:"name"`
	Limit  int64        `json:"limit"`
	Window int64        `json:"window_ms"`
	Burst  int64        `json:"burst"`
	Steps  []vectorStep `json:"steps"`
}

var vectorAlgorithms = map[string]limiter.Algorithm{
	"fixed_window":   limiter.FixedWindow,
	"sliding_window": limiter.SlidingWindow,
	"sliding_log":    limiter.SlidingLog,
	"token_bucket":   limiter.TokenBucket,
}

// cell is the simplest store of one counter: it keeps what the arithmetic says is to be kept.
type cell struct {
	number, current, previous int64
	at, debt                  int64
	log                       []int64 // when each unit in use was taken
}

func (c *cell) TakenAt(n int64) int64 { return c.log[n-1] }

func (c *cell) load(l limiter.Limit, now int64) limiter.Usage {
	switch l.Algorithm {
	case limiter.TokenBucket:
		return limiter.BucketUsage(l, now, c.at, c.debt)
	case limiter.SlidingLog:
		for len(c.log) > 0 && c.log[0] <= now-l.WindowMillis() {
			c.log = c.log[1:]
		}
		var newest int64
		if len(c.log) > 0 {
			newest = c.log[len(c.log)-1]
		}
		return limiter.LogUsage(now, int64(len(c.log)), newest, c)
	default:
		return limiter.WindowUsage(l, now, c.number, c.current, c.previous)
	}
}

func (c *cell) save(l limiter.Limit, u *limiter.Usage) {
	if u.Spent == 0 && u.Returned == 0 {
		return
	}
	switch l.Algorithm {
	case limiter.TokenBucket:
		c.at, c.debt = u.At, u.DebtAfter(l)
	case limiter.SlidingLog:
		c.log = c.log[:int64(len(c.log))-u.Returned]
		for range u.Spent {
			c.log = append(c.log, u.At)
		}
	default:
		c.number, c.current, c.previous = u.Number, u.Current+u.Spent, u.Previous
	}
}

func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/algorithms.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Algorithms   map[string][]vectorCase `json:"algorithms"`
		LimitChanges map[string][]vectorCase `json:"limit_changes"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for group, cases := range map[string]map[string][]vectorCase{"algorithms": file.Algorithms, "limit_changes": file.LimitChanges} {
		for name, list := range cases {
			algorithm, ok := vectorAlgorithms[name]
			if !ok {
				t.Fatalf("%s: unknown algorithm %q", group, name)
			}
			for _, vc := range list {
				ran++
				t.Run(group+"/"+name+"/"+vc.Name, func(t *testing.T) { runVector(t, algorithm, vc, group == "limit_changes") })
			}
		}
	}
	if ran == 0 {
		t.Fatal("no vectors in the file")
	}
}

func runVector(t *testing.T, algorithm limiter.Algorithm, vc vectorCase, changes bool) {
	var c cell
	l := limiter.Limit{Requests: vc.Limit, Window: time.Duration(vc.Window) * time.Millisecond, Algorithm: algorithm, Burst: vc.Burst}
	for i, step := range vc.Steps {
		if changes {
			l.Requests = step.Limit
		}
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		charges := []limiter.Charge{{Limit: l, Cost: step.Cost}}
		counters := []limiter.Usage{c.load(l, step.At)}
		limiter.Decide(charges, counters, []int{0})
		c.save(l, &counters[0])

		want := limiter.Decision{
			Allowed: step.Allowed, Remaining: step.Remaining,
			RetryAfter: time.Duration(step.RetryAfter) * time.Millisecond,
			ResetAfter: time.Duration(step.ResetAfter) * time.Millisecond,
		}
		if step.RetryAfter == -1 {
			want.RetryAfter = limiter.Never
		}
		if got := charges[0].Decision; got != want {
			t.Errorf("step %d, cost %d at %d ms of %v:\n got %+v\nwant %+v", i, step.Cost, step.At, l, got, want)
		}
	}
}
