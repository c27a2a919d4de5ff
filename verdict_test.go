package httplimit_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Programs outside this repository read this, and pages in browsers: names and units stay.
func TestVerdictInJSON(t *testing.T) {
	tests := map[string]struct {
		verdict httplimit.Verdict
		want    string
	}{
		"allowed": {
			httplimit.Verdict{Rule: "plan", Limit: limiter.PerMinute(100), Cost: 1, Source: httplimit.SourceStore,
				Decision: limiter.Decision{Allowed: true, Remaining: 40, ResetAfter: 52*time.Second + time.Millisecond}},
			`{"rule":"plan","limit":"100/m","cost":1,"source":"store","allowed":true,"remaining":40,` +
				`"retryAfter":0,"resetAfter":52001}`,
		},
		"refused in this process": {
			httplimit.Verdict{Rule: "a \"b\"", Limit: limiter.Limit{Requests: 20, Window: time.Second,
				Algorithm: limiter.TokenBucket, Burst: 40}, Cost: 3, Source: httplimit.SourceLocal,
				Decision: limiter.Decision{RetryAfter: 1500 * time.Millisecond, ResetAfter: 2 * time.Second}},
			`{"rule":"a \"b\"","limit":"20/s token-bucket burst=40","cost":3,"source":"local","allowed":false,` +
				`"remaining":0,"retryAfter":1500,"resetAfter":2000}`,
		},
		"never": {
			httplimit.Verdict{Rule: "plan", Limit: limiter.PerDay(0), Cost: 1, Source: httplimit.SourceCache,
				Decision: limiter.Decision{RetryAfter: limiter.Never}},
			`{"rule":"plan","limit":"0/d","cost":1,"source":"cache","allowed":false,"remaining":0,` +
				`"retryAfter":null,"resetAfter":0}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tt.verdict)
			if err != nil || string(got) != tt.want {
				t.Errorf("\n got %s, %v\nwant %s", got, err, tt.want)
			}
			var back httplimit.Verdict
			if err := json.Unmarshal(got, &back); err != nil || back != tt.verdict {
				t.Errorf("read again: got %+v, %v, want %+v", back, err, tt.verdict)
			}
		})
	}
}

// TestObservedInJSON: not that of the Verdict alone, whose methods it has.
func TestObservedInJSON(t *testing.T) {
	observed := httplimit.Observed{
		Verdict: httplimit.Verdict{Rule: "plan", Limit: limiter.PerMinute(100), Cost: 1, Source: httplimit.SourceCache,
			Decision: limiter.Decision{RetryAfter: 1500 * time.Millisecond, ResetAfter: time.Minute}},
		Result: httplimit.ResultRefused, Key: "%N:192.0.2.7", NoKey: true,
	}
	want := `{"rule":"plan","limit":"100/m","cost":1,"source":"cache","allowed":false,"remaining":0,` +
		`"retryAfter":1500,"resetAfter":60000,"result":"refused","key":"%N:192.0.2.7","noKey":true}`
	got, err := json.Marshal(observed)
	if err != nil || string(got) != want {
		t.Errorf("\n got %s, %v\nwant %s", got, err, want)
	}
	var back httplimit.Observed
	if err := json.Unmarshal(got, &back); err != nil || back != observed {
		t.Errorf("read again: got %+v, %v, want %+v", back, err, observed)
	}
	if err := json.Unmarshal([]byte(`{"result":"passed"}`), &back); err == nil || back != observed {
		t.Errorf("an unknown result: got %+v, %v, want an error, and nothing changed", back, err)
	}
}

func TestVerdictThatCannotBeRead(t *testing.T) {
	for _, text := range []string{
		`{"limit":"100"}`, `{"source":"redis"}`, `{"retryAfter":-1}`, `{"resetAfter":"1s"}`, `[]`,
	} {
		v := httplimit.Verdict{Rule: "before"}
		if err := json.Unmarshal([]byte(text), &v); err == nil || v.Rule != "before" {
			t.Errorf("%s: got %+v, %v, want an error, and nothing changed", text, v, err)
		}
	}
}

// Who shows both to users needs one way to read them.
func TestVerdictAndStatsHaveTheSameNamesAndUnits(t *testing.T) {
	decision := limiter.Decision{Allowed: true, Remaining: 7, RetryAfter: limiter.Never, ResetAfter: 90 * time.Second}
	members := func(of any) map[string]any {
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	verdict := members(httplimit.Verdict{Limit: limiter.PerMinute(9), Decision: decision})
	stats := members(limiter.Stats{Limit: limiter.PerMinute(9), Allowed: decision.Allowed, Remaining: decision.Remaining,
		RetryAfter: decision.RetryAfter, ResetAfter: decision.ResetAfter})
	for _, name := range []string{"limit", "allowed", "remaining", "retryAfter", "resetAfter"} {
		got, inVerdict := verdict[name]
		want, inStats := stats[name]
		if !inVerdict || !inStats || got != want {
			t.Errorf("%q: got %v (%v) in a Verdict and %v (%v) in Stats, want the same", name, got, inVerdict, want, inStats)
		}
	}
}

func TestSourcesAndResultsAreTexts(t *testing.T) {
	for want, source := range map[string]httplimit.Source{
		"none": httplimit.SourceNone, "store": httplimit.SourceStore, "cache": httplimit.SourceCache,
		"local": httplimit.SourceLocal,
	} {
		var back httplimit.Source
		text, err := source.MarshalText()
		if string(text) != want || err != nil || source.String() != want {
			t.Errorf("source: got %q, %v and %q, want %q", text, err, source, want)
		}
		if err := back.UnmarshalText(text); err != nil || back != source {
			t.Errorf("%q read again: got %v, %v, want %v", text, back, err, source)
		}
	}
	var zero httplimit.Verdict
	if zero.Source != httplimit.SourceNone {
		t.Errorf("the zero Source: got %v, want none", zero.Source)
	}
	for want, result := range map[string]httplimit.Result{
		"allowed": httplimit.ResultAllowed, "refused": httplimit.ResultRefused,
		"shadow_refused": httplimit.ResultShadowRefused, "open": httplimit.ResultOpen, "closed": httplimit.ResultClosed,
	} {
		if text, err := result.MarshalText(); string(text) != want || err != nil || fmt.Sprint(result) != want {
			t.Errorf("result: got %q, %v and %v, want %q", text, err, result, want)
		}
	}
}

// TestVerdictsTellTheirSource: in a handler, of a refusal, and of a look, which must not take a share for the whole.
func TestVerdictsTellTheirSource(t *testing.T) {
	limit := limiter.PerDay(10)
	cached := func(c *limiter.Charge) { c.Cached = true }
	tests := map[string]struct {
		store  *scripted
		policy httplimit.FailurePolicy
		want   httplimit.Source
		left   int64
	}{
		"the store":     {&scripted{}, httplimit.FailLocal, httplimit.SourceStore, 9},
		"a deny cache":  {&scripted{answer: cached}, httplimit.FailLocal, httplimit.SourceCache, 9},
		"this process":  {&scripted{err: errDown}, httplimit.FailLocal, httplimit.SourceLocal, 5},
		"nobody (open)": {&scripted{err: errDown}, httplimit.FailOpen, httplimit.SourceNone, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Store: tt.store, Instances: 2, Rules: []httplimit.Rule{
				{Name: "ip", Key: httplimit.ClientIP(), Limit: limit, Failure: tt.policy}}})
			v, err := m.Peek(t.Context(), "ip", "192.0.2.1")
			if err != nil || v.Source != tt.want || v.Limit != limit || v.Remaining != tt.left {
				t.Errorf("Peek: got %+v, %v, want %d left by %v of %v", v, err, tt.left, tt.want, limit)
			}
			if v, err = m.Allow(t.Context(), "ip", "192.0.2.1"); err != nil || v.Source != tt.want {
				t.Errorf("Allow: got %+v, %v, want source %v", v, err, tt.want)
			}
			all, err := m.PeekRequest(get())
			if err != nil || len(all) != 1 || all[0].Source != tt.want {
				t.Errorf("PeekRequest: got %+v, %v, want source %v", all, err, tt.want)
			}
		})
	}
}
