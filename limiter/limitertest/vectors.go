package limitertest

import (
	_ "embed" // the vectors
	"encoding/json"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

//go:embed testdata/algorithms.json
var vectorFile []byte

// vectors are worked examples for each algorithm, by the name that the file has for it.
type vectors struct {
	Algorithms   map[string][]vector `json:"algorithms"`
	LimitChanges map[string][]vector `json:"limit_changes"`
}

// vector is one counter from its first charge on. Times are milliseconds.
type vector struct {
	Name   string       `json:"name"`
	Limit  int64        `json:"limit"`
	Window int64        `json:"window_ms"`
	Burst  int64        `json:"burst"`
	Steps  []vectorStep `json:"steps"`
}

type vectorStep struct {
	At         int64 `json:"t_ms"`
	Cost       int64 `json:"cost"`
	Limit      int64 `json:"limit"` // 0: that of the vector
	Allowed    bool  `json:"allowed"`
	Remaining  int64 `json:"remaining"`
	RetryAfter int64 `json:"retry_after_ms"` // -1: never
	ResetAfter int64 `json:"reset_after_ms"`
}

func testVectors(s *storeTest) {
	var file vectors
	if err := json.Unmarshal(vectorFile, &file); err != nil {
		s.Fatalf("the suite's own vectors: %v", err)
	}
	name := map[limiter.Algorithm]string{
		limiter.SlidingWindow: "sliding_window", limiter.SlidingLog: "sliding_log",
		limiter.FixedWindow: "fixed_window", limiter.TokenBucket: "token_bucket",
		limiter.StrictWindow: "strict_window",
	}[s.algorithm]
	all := append(file.Algorithms[name], file.LimitChanges[name]...)
	if len(all) == 0 {
		s.Fatalf("the suite has no vectors for %v", s.algorithm)
	}
	for _, v := range all {
		runVector(s, v)
	}
}

// runVector moves a vector to the next start of its window on the store's clock, of a StrictWindow to the next start of
// a part, and follows it from there.
func runVector(s *storeTest, v vector) {
	s.Helper()
	limit := s.per(v.Limit, time.Duration(v.Window)*time.Millisecond)
	limit.Burst = v.Burst
	if !s.runs(limit) {
		return
	}
	period := limit.Window
	if s.algorithm == limiter.StrictWindow {
		period = time.Duration(partLength(limit)) * time.Millisecond
	}
	s.align(period)
	start := s.now() - v.Steps[0].At + v.Steps[0].At%period.Milliseconds()
	for i, step := range v.Steps {
		s.Advance(time.Duration(start+step.At-s.now()) * time.Millisecond)
		if step.Limit != 0 {
			limit.Requests = step.Limit
		}
		charge := limiter.Charge{Scope: "vectors", Key: v.Name, Limit: limit, Cost: step.Cost}
		answers, _ := s.take(charge)
		if got, want := answers[0].Decision, step.decision(); got != want && !s.repeated {
			s.Errorf("%s, step %d, %d units of %v at %d ms:\n got %+v\nwant %+v", v.Name, i, step.Cost, limit, step.At, got,
				want)
		}
	}
}

func (v vectorStep) decision() limiter.Decision {
	d := limiter.Decision{
		Allowed:    v.Allowed,
		Remaining:  v.Remaining,
		RetryAfter: time.Duration(v.RetryAfter) * time.Millisecond,
		ResetAfter: time.Duration(v.ResetAfter) * time.Millisecond,
	}
	if v.RetryAfter == -1 {
		d.RetryAfter = limiter.Never
	}
	return d
}
