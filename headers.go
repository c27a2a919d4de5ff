package httplimit

import (
	"errors"
	"math/bits"
	"net/http"

	"github.com/httplimit/httplimit/internal/fields"
)

// HeaderStyle chooses the header fields of answers, as a set of the constants below: at most one RateLimit style and
// at most one X style. Zero means RateLimitFields. A refusal carries Retry-After whatever the style, unless the request
// can never pass: it costs more than its limit allows at once, or the limit is 0.
//
// The time in a field (t, reset) is that until the whole quota is free again; after a refusal it is that of
// Retry-After, and RateLimit lists only the rules that were violated. A limit of 0 has no such time: RateLimitFields
// leave t out, and the styles that need a reset tell the limit's window. Styles that can describe one rule only take
// the violated one with the longest wait, else the one with the least left. A rule with InFlight has no such time and
// no window: RateLimitFields leave t out and have qu="concurrent-requests" instead of w, the other styles leave it out.
type HeaderStyle uint16

// The bits are those of fields.Style.
const (
	// RateLimitFields is draft-ietf-httpapi-ratelimit-headers-11 (in this form since draft 08): every rule is
	// a named policy, RateLimit-Policy: "name";q=100;w=60 and RateLimit: "name";r=99;t=60.
	RateLimitFields HeaderStyle = 1 << iota
	// RateLimitDraft07 is draft 07: RateLimit: limit=100, remaining=99, reset=60. It can describe one rule only.
	RateLimitDraft07
	// RateLimitDraft06 is drafts 04 to 06: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset. One rule only.
	RateLimitDraft06
	// XRateLimitEpoch is X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset as GitHub sends them:
	// Reset is a Unix time in seconds. One rule only.
	XRateLimitEpoch
	// XRateLimitDelta is the same with Reset in seconds from now.
	XRateLimitDelta
	// NoHeaders sends none of them. It stands alone.
	NoHeaders
)

const (
	rateLimitStyles = RateLimitFields | RateLimitDraft07 | RateLimitDraft06
	xStyles         = XRateLimitEpoch | XRateLimitDelta
)

// resolve replaces zero and refuses what cannot be combined.
func (s HeaderStyle) resolve() (HeaderStyle, error) {
	switch {
	case s == 0:
		return RateLimitFields, nil
	case s&^(rateLimitStyles|xStyles|NoHeaders) != 0:
		return 0, errors.New("unknown style, want a set of the HeaderStyle constants")
	case s&NoHeaders != 0 && s != NoHeaders:
		return 0, errors.New("NoHeaders stands alone")
	case bits.OnesCount16(uint16(s&rateLimitStyles)) > 1:
		return 0, errors.New("want at most one of RateLimitFields, RateLimitDraft07 and RateLimitDraft06")
	case bits.OnesCount16(uint16(s&xStyles)) > 1:
		return 0, errors.New("want at most one of XRateLimitEpoch and XRateLimitDelta")
	}
	return s, nil
}

// Names returns the fields that s can send, Retry-After included, as Access-Control-Expose-Headers wants them: a
// browser hides them from scripts of another origin unless they are listed there.
func (s HeaderStyle) Names() []string {
	if s == 0 {
		s = RateLimitFields
	}
	return fields.Style(s).Names()
}

// visible reports whether clients learn of the rule.
func (r *rule) visible() bool { return !r.Shadow && !r.Private }

// buildFields builds the header fields of the answer.
func (o *Outcome) buildFields() {
	d := &o.decision
	refused := d.status == http.StatusTooManyRequests
	if style := d.s.headers; style != NoHeaders && (d.status == 0 || refused) {
		usual := o.listStandings()
		o.fields.Standings(fields.Style(style), &d.s.policies, o.standing, usual, refused)
	}
	if refused || d.status == http.StatusServiceUnavailable {
		o.fields.Refusal(d.retryAfter)
	}
}

// listStandings lists where the client stands with each rule that it may know of. usual reports whether all rules
// apply, with their own limits.
func (o *Outcome) listStandings() (usual bool) {
	d := &o.decision
	usual = len(d.rules) == len(d.s.rules)
	o.standing = o.standing[:0]
	for i := range d.rules {
		r, c := &d.rules[i], &d.charges[i]
		limit := &c.Limit
		if r.source == SourceLocal {
			limit = &r.whole
		}
		usual = usual && r.source != SourceNone && r.shadow == r.Shadow && (r.LimitFunc == nil || *limit == r.Limit)
		if r.shadow || r.Private || r.source == SourceNone {
			continue
		}
		o.standing = append(o.standing, fields.Standing{})
		s := &o.standing[len(o.standing)-1]
		s.Policy, s.Quota, s.Window, s.InFlight = r.index, limit.Requests, limit.Window, r.InFlight
		s.Remaining = min(c.Remaining, limit.Requests) // a burst can be larger than the quota
		s.ResetAfter, s.RetryAfter, s.Violated = c.ResetAfter, c.RetryAfter, r.violated
	}
	return usual
}

// policies returns what the fields say of the rules in every answer.
func policies(rules []rule) fields.Policies {
	p := fields.Policies{Names: make([]string, len(rules))}
	var text []byte
	for i := range rules {
		r := &rules[i]
		p.Names[i] = fields.Quote(r.Name)
		if !r.visible() {
			continue
		}
		if len(text) > 0 {
			text = append(text, ", "...)
		}
		text = fields.AppendPolicy(text, p.Names[i], r.Limit.Requests, r.Limit.Window, r.InFlight)
	}
	p.Field = string(text)
	return p
}
