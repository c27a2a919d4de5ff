package policy

import (
	"net/netip"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Policy is what a file says. Its fields, and those of a [Rule], mean what those of the same name of [httplimit.Config]
// and [httplimit.Rule] mean. Make one with [Parse], or fill it in: [Policy.Config] checks it either way.
type Policy struct {
	Schema         string                `json:"$schema,omitempty"` // for editors; means nothing here
	Namespace      string                `json:"namespace,omitempty"`
	TrustedProxies []netip.Prefix        `json:"trustedProxies,omitempty"` // of every "ip"
	Headers        httplimit.HeaderStyle `json:"headers,omitempty"`
	Instances      int                   `json:"instances,omitempty"`
	Rules          []Rule                `json:"rules"`

	read *source // nil: not made by Parse
}

// Rule is a rule of a [Policy].
type Rule struct {
	Name        string                   `json:"name"`
	Key         Key                      `json:"key"`
	NoKey       Key                      `json:"noKey,omitzero"` // zero: "ip"
	Limit       limiter.Limit            `json:"limit"`
	Plans       map[string]limiter.Limit `json:"plans,omitempty"`    // by what Names.Plan returns
	When        []Condition              `json:"when,omitempty"`     // one of them has to hold; none: every request
	OnlyFrom    []netip.Prefix           `json:"onlyFrom,omitempty"` // and the client is in one of these networks
	NotFrom     []netip.Prefix           `json:"notFrom,omitempty"`  // and in none of these
	Cost        int64                    `json:"cost,omitempty"`     // 0: 1
	CountStatus []int                    `json:"countStatus,omitempty"`
	InFlight    bool                     `json:"inFlight,omitempty"`
	Failure     httplimit.FailurePolicy  `json:"failure,omitempty"`
	Shadow      bool                     `json:"shadow,omitempty"`
	Percent     int                      `json:"percent,omitempty"`
	Ban         *Ban                     `json:"ban,omitempty"`
	Private     bool                     `json:"private,omitempty"`
}

// Ban is [httplimit.Ban].
type Ban struct {
	After  int64    `json:"after"`
	Within Duration `json:"within"`
	For    Duration `json:"for"`
}

// source is what Parse remembers of a text.
type source struct {
	text   string           // the policy as MarshalJSON wrote it then: another one was changed since
	places map[string]place // by path
}

// UnmarshalJSON implements [encoding/json.Unmarshaler]: it is [Parse]. After an error p is as it was.
func (p *Policy) UnmarshalJSON(text []byte) error {
	parsed, err := Parse(text)
	if err == nil {
		*p = *parsed
	}
	return err
}
