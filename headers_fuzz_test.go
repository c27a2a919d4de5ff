package httplimit_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// FuzzFields sends fields through a structured-fields parser (RFC 9651) and wants back what went in.
func FuzzFields(f *testing.F) {
	f.Add("ip", int64(100), int64(60_000), int64(99), int64(60e9), false)
	f.Add(`x";q=999;z="`, int64(1), int64(1), int64(0), int64(1), true)
	f.Add("closed", int64(0), int64(60_000), int64(0), int64(limiter.Never), true)
	f.Add(`\"\`, int64(1e9), int64(366*24*3600*1000), int64(-1), int64(limiter.Never), true)
	f.Fuzz(func(t *testing.T, name string, requests, window, remaining, wait int64, refused bool) {
		limit := limiter.Per(requests, time.Duration(window)*time.Millisecond)
		store := &scripted{answer: func(c *limiter.Charge) {
			c.Decision = limiter.Decision{Allowed: !refused, Remaining: remaining, ResetAfter: time.Duration(wait)}
			if refused {
				c.RetryAfter = time.Duration(wait)
			}
		}}
		m, err := httplimit.New(httplimit.Config{Store: store, Rules: []httplimit.Rule{
			{Name: name, Key: httplimit.Everyone(), Limit: limit}, {Name: name + "2", Key: httplimit.Everyone(), Limit: limit},
		}})
		if err != nil {
			return // a name or a limit that New refuses
		}
		w := serve(m, "192.0.2.7:1")
		policy := parseList(t, w.Header()["Ratelimit-Policy"])
		standing := parseList(t, w.Header()["Ratelimit"])
		if len(policy) != 2 || len(standing) != 2 {
			t.Fatalf("got %d policies and %d standings, want 2 of each", len(policy), len(standing))
		}
		for i, want := range []string{name, name + "2"} {
			if got := policy[i].Value; got != want {
				t.Errorf("policy %d: got name %q, want %q", i, got, want)
			}
			if got := parameter(t, policy[i], "q"); got != requests {
				t.Errorf("q: got %d, want %d", got, requests)
			}
			if got := parameter(t, policy[i], "w"); got < 1 || got*1000 < window || (got-1)*1000 >= window {
				t.Errorf("w: got %d s for a window of %d ms", got, window)
			}
			if got, want := parameter(t, standing[i], "r"), min(max(remaining, 0), requests); got != want {
				t.Errorf("r: got %d, want %d", got, want)
			}
			if requests == 0 {
				if got, has := standing[i].Params.Get("t"); has {
					t.Errorf("t: got %v for a limit of 0, want none", got)
				}
			} else if got := parameter(t, standing[i], "t"); got < 0 {
				t.Errorf("t: got %d, want none below 0", got)
			}
		}
		if refused {
			checkRetryAfter(t, w.Header()["Retry-After"], time.Duration(wait))
			var problem struct {
				Violated []string `json:"violated-policies"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || len(problem.Violated) != 2 ||
				problem.Violated[0] != name {
				t.Errorf("body %q: %v, want violated-policies %q", w.Body, err, name)
			}
		}
	})
}

func checkRetryAfter(t *testing.T, lines []string, wait time.Duration) {
	t.Helper()
	if wait == limiter.Never {
		if len(lines) != 0 {
			t.Errorf("Retry-After: got %q, want none", lines)
		}
		return
	}
	if len(lines) != 1 {
		t.Fatalf("Retry-After: got %q, want one line", lines)
	}
	seconds, err := strconv.Atoi(lines[0])
	if err != nil || seconds < 1 || seconds > 2147483 {
		t.Errorf("Retry-After: got %q, want 1 to 2147483", lines[0])
	}
	if early := time.Duration(seconds)*time.Second < wait; early && seconds != 2147483 {
		t.Errorf("Retry-After: got %d s, earlier than %v", seconds, wait)
	}
}

func parseList(t *testing.T, lines []string) []httpsfv.Item {
	t.Helper()
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		t.Fatalf("%q: %v", lines, err)
	}
	items := make([]httpsfv.Item, len(list))
	for i, member := range list {
		item, ok := member.(httpsfv.Item)
		if !ok {
			t.Fatalf("%q: member %d is no item", lines, i)
		}
		items[i] = item
	}
	canonical, err := httpsfv.Marshal(list)
	if err != nil || len(lines) != 1 || canonical != lines[0] {
		t.Errorf("got %q, want the canonical form %q (%v)", lines, canonical, err)
	}
	return items
}

func parameter(t *testing.T, item httpsfv.Item, name string) int64 {
	t.Helper()
	value, _ := item.Params.Get(name)
	n, ok := value.(int64)
	if !ok {
		t.Fatalf("parameter %s: got %v, want an integer", name, value)
	}
	return n
}
