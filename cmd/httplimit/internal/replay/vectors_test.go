package replay_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/limiter"
)

// vector is one client's requests and the exact answers.
type vector struct {
	Name   string `json:"name"`
	Limit  int64  `json:"limit"`
	Window int64  `json:"window_ms"`
	Burst  int64  `json:"burst"`
	Steps  []struct {
		At         int64 `json:"t_ms"`
		Cost       int64 `json:"cost"`
		Limit      int64 `json:"limit"` // 0: the vector's
		Allowed    bool  `json:"allowed"`
		RetryAfter int64 `json:"retry_after_ms"` // -1: never
	} `json:"steps"`
}

// TestVectors replays each vector as a log of one client: cost and limit of a step stand in fields of its request.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/algorithms.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Algorithms   map[string][]vector `json:"algorithms"`
		LimitChanges map[string][]vector `json:"limit_changes"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for name, algorithm := range map[string]limiter.Algorithm{"sliding_window": limiter.SlidingWindow,
		"sliding_log": limiter.SlidingLog, "fixed_window": limiter.FixedWindow, "token_bucket": limiter.TokenBucket,
		"strict_window": limiter.StrictWindow} {
		all := append(file.Algorithms[name], file.LimitChanges[name]...)
		if len(all) == 0 {
			t.Errorf("there are no vectors of %s", name)
		}
		for _, v := range all {
			t.Run(name+"/"+v.Name, func(t *testing.T) { replayVector(t, algorithm, v) })
		}
	}
}

func replayVector(t *testing.T, a limiter.Algorithm, v vector) {
	rule := byAddress("rule", "1/s")
	rule.Limit = limiter.Limit{Requests: v.Limit, Window: time.Duration(v.Window) * time.Millisecond, Algorithm: a,
		Burst: v.Burst}
	rule.Cost = func(r *http.Request) (int64, error) { return strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64) }
	rule.LimitFunc = func(r *http.Request) (limiter.Limit, error) {
		l := rule.Limit
		n, err := strconv.ParseInt(r.Header.Get("X-Limit"), 10, 64)
		l.Requests = n
		return l, err
	}
	p := policyOf(rule)
	w := &witness{}
	p.Config.Observer = w
	r, err := replay.New(p, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	period := v.Window
	if a == limiter.StrictWindow {
		period = (v.Window + 9) / 10 // a part: the vector begins with one
	}
	start := (monday/period + 1) * period
	for i, step := range v.Steps {
		limit := step.Limit
		if limit == 0 {
			limit = v.Limit
		}
		w.next = &accesslog.Entry{At: start + step.At, Client: "192.0.2.1", Header: []accesslog.Field{
			{Name: "X-Cost", Value: strconv.FormatInt(step.Cost, 10)}, {Name: "X-Limit", Value: strconv.FormatInt(limit, 10)}}}
		r.Request(w.next)
		want := time.Duration(step.RetryAfter) * time.Millisecond
		if step.RetryAfter < 0 {
			want = limiter.Never
		}
		got := w.all[i].rules[0]
		if got.Allowed != step.Allowed || got.RetryAfter != want || got.Cost != step.Cost {
			t.Fatalf("step %d: allowed %v, retry after %v at cost %d, want %v, %v, %d", i, got.Allowed, got.RetryAfter, got.Cost,
				step.Allowed, want, step.Cost)
		}
	}
}
