package algorithm_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/refstore"
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
	"strict_window":  limiter.StrictWindow,
}

// The arithmetic, at the very moments of the vectors. Package limitertest has them for stores, on their clocks.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("../limitertest/testdata/algorithms.json")
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
	for group, cases := range map[string]map[string][]vectorCase{"algorithms": file.Algorithms,
		"limit_changes": file.LimitChanges} {
		for name, kind := range vectorAlgorithms {
			if len(cases[name]) == 0 {
				t.Errorf("no vectors for %s in %s", name, group)
			}
			for _, vc := range cases[name] {
				t.Run(group+"/"+name+"/"+vc.Name, func(t *testing.T) { runVector(t, kind, vc) })
			}
		}
	}
}

func runVector(t *testing.T, kind limiter.Algorithm, vc vectorCase) {
	var now int64
	s := refstore.New(func() int64 { return now })
	l := limiter.Limit{Requests: vc.Limit, Window: time.Duration(vc.Window) * time.Millisecond, Algorithm: kind,
		Burst: vc.Burst}
	for i, step := range vc.Steps {
		if now = step.At; step.Limit != 0 {
			l.Requests = step.Limit
		}
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		charges := []limiter.Charge{{Limit: l, Cost: step.Cost}}
		if _, err := s.Take(t.Context(), charges); err != nil {
			t.Fatal(err)
		}
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
