package httplimit

import (
	"encoding/json"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Verdict is what one rule says of one request. The names and units of its JSON are stable, and those of
// [limiter.Stats] are the same: durations are whole milliseconds, rounded up, and null for [limiter.Never].
//
//	{"rule":"plan","limit":"100/m","cost":1,"source":"store",
//	 "allowed":true,"remaining":40,"retryAfter":0,"resetAfter":52000}
type Verdict struct {
	Rule  string        // its name
	Limit limiter.Limit // the limit that held
	Cost  int64         // what the request was to spend
	// Source is who decided. With SourceLocal the Decision is about this process's share of the limit, not about the
	// store's counter.
	Source Source

	private, shadow, inFlight bool // the rule is; beside Source, where they need no memory of their own
	untold                    bool // clients are told no limits: Config.Headers is NoHeaders

	limiter.Decision
}

// verdictJSON is a Verdict with the names and units of JSON.
type verdictJSON struct {
	Rule       string               `json:"rule"`
	Limit      limiter.Limit        `json:"limit"`
	Cost       int64                `json:"cost"`
	Source     Source               `json:"source"`
	Allowed    bool                 `json:"allowed"`
	Remaining  int64                `json:"remaining"`
	RetryAfter limiter.Milliseconds `json:"retryAfter"`
	ResetAfter limiter.Milliseconds `json:"resetAfter"`
}

func (v *Verdict) toJSON() verdictJSON {
	return verdictJSON{
		Rule: v.Rule, Limit: v.Limit, Cost: v.Cost, Source: v.Source, Allowed: v.Allowed, Remaining: v.Remaining,
		RetryAfter: limiter.Milliseconds(v.RetryAfter), ResetAfter: limiter.Milliseconds(v.ResetAfter),
	}
}

func (read *verdictJSON) verdict() Verdict {
	return Verdict{
		Rule: read.Rule, Limit: read.Limit, Cost: read.Cost, Source: read.Source,
		Decision: limiter.Decision{
			Allowed: read.Allowed, Remaining: read.Remaining,
			RetryAfter: time.Duration(read.RetryAfter), ResetAfter: time.Duration(read.ResetAfter),
		},
	}
}

// MarshalJSON implements [json.Marshaler].
func (v Verdict) MarshalJSON() ([]byte, error) { return json.Marshal(v.toJSON()) }

// UnmarshalJSON implements [json.Unmarshaler], for programs that read what a service says of them. Whether the rule is
// Private or Shadow is not in the JSON.
func (v *Verdict) UnmarshalJSON(text []byte) error {
	var read verdictJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*v = read.verdict()
	return nil
}

// observedJSON is an Observed with the names and units of JSON.
type observedJSON struct {
	verdictJSON
	Result Result `json:"result"`
	Key    string `json:"key"`
	NoKey  bool   `json:"noKey"`
}

// MarshalJSON implements [json.Marshaler]. The key is in the JSON: it is for logs and operators, not for clients.
func (o Observed) MarshalJSON() ([]byte, error) {
	return json.Marshal(observedJSON{o.toJSON(), o.Result, o.Key, o.NoKey})
}

// UnmarshalJSON implements [json.Unmarshaler], as that of [Verdict] does.
func (o *Observed) UnmarshalJSON(text []byte) error {
	var read observedJSON
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*o = Observed{Verdict: read.verdict(), Result: read.Result, Key: read.Key, NoKey: read.NoKey}
	return nil
}
