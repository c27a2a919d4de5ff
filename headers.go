package httplimit

import (
	"errors"
	"iter"
	"math/bits"
	"net/http"
	"strings"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// HeaderStyle chooses the header fields of answers, as a set of the constants below: at most one RateLimit style and
// at most one X style. Zero means RateLimitFields. A refusal carries Retry-After whatever the style, unless the request
// costs more than its limit allows at once and can never pass.
//
// The time in a field (t, reset) is that until the whole quota is free again; after a refusal it is that of
// Retry-After, and RateLimit lists only the rules that were violated. Styles that can tell of one rule only take the
// violated one with the longest wait, else the one with the least left.
type HeaderStyle uint16

const (
	// RateLimitFields is draft-ietf-httpapi-ratelimit-headers-11 (in this form since draft 08): every rule is
	// a named policy, RateLimit-Policy: "name";q=100;w=60 and RateLimit: "name";r=99;t=60.
	RateLimitFields HeaderStyle = 1 << iota
	// RateLimitDraft07 is draft 07: RateLimit: limit=100, remaining=99, reset=60. It can tell of one rule only.
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

const rateLimitStyles = RateLimitFields | RateLimitDraft07 | RateLimitDraft06

// resolve replaces zero and refuses what cannot be combined.
func (s HeaderStyle) resolve() (HeaderStyle, error) {
	xStyles := XRateLimitEpoch | XRateLimitDelta
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
	var names []string
	switch {
	case s == 0, s&RateLimitFields != 0, s&RateLimitDraft07 != 0:
		names = append(names, "RateLimit", "RateLimit-Policy")
	case s&RateLimitDraft06 != 0:
		names = append(names, "RateLimit-Limit", "RateLimit-Policy", "RateLimit-Remaining", "RateLimit-Reset")
	}
	if s&(XRateLimitEpoch|XRateLimitDelta) != 0 {
		names = append(names, "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
	}
	return append(names, fieldNames[fieldRetryAfter])
}

// EachField calls set with the name and the value of each of the Fields, for frameworks that copy what they are given:
// value is overwritten soon. adds tells which are to be added to what other layers wrote.
func (o *Outcome) EachField(set func(name string, value []byte, adds bool)) {
	o.wire.each(o.policy(), set)
}

// Fields returns the header fields to set on the answer, with names in net/http's canonical form. RateLimit and
// RateLimit-Policy are to be added to what other layers wrote, all others replace it: so of several Middlewares all
// rules are seen in RateLimitFields, and those of the innermost in the styles that can tell of one rule only. Set them
// before the handler runs.
func (o *Outcome) Fields() iter.Seq2[string, string] { return o.wire.all(o.policy()) }

// SetFields does with net/http's Header what [Outcome.Fields] asks for.
func (o *Outcome) SetFields(h http.Header) { o.wire.writeTo(h, o.policy()) }

// policy is RateLimit-Policy where every rule applies with its own Limit.
func (o *Outcome) policy() string {
	if o.s == nil {
		return ""
	}
	return o.s.policy
}

// compose builds the fields.
func (o *Outcome) compose() {
	refused := o.status == http.StatusTooManyRequests
	if o.status == 0 || refused {
		o.stand(refused)
	}
	if refused || o.status == http.StatusServiceUnavailable {
		o.wire.retryAfter(o.retryAfter())
		// RFC 6585, section 4 forbids caches to store a 429; some do it all the same.
		o.wire.ready(fieldCache)
	}
}

// stand writes the fields of the style.
func (o *Outcome) stand(refused bool) {
	style := o.s.headers
	if style == NoHeaders {
		return
	}
	whole, some := o.list()
	if !some {
		return
	}
	if style&RateLimitFields != 0 {
		o.structured(whole, refused)
	}
	if style != RateLimitFields {
		o.legacy(style, refused)
	}
}

// list marks the rules that the fields tell of, and whether there are some. whole says that these are all that clients
// may know of, each with its own Limit.
func (o *Outcome) list() (whole, some bool) {
	whole = len(o.items) == len(o.s.rules)
	for i := range o.items {
		it := &o.items[i]
		it.listed = it.rule.visible() && it.source != SourceNone
		some = some || it.listed
		if it.rule.LimitFunc != nil || it.source != SourceStore {
			whole = whole && it.source != SourceNone && *o.limit(i) == it.rule.Limit
		}
	}
	return whole, some
}

// structured writes drafts 08 to 11: all policies, and where the client stands in each; after a refusal only in
// those that were violated, so that no t is later than Retry-After.
func (o *Outcome) structured(whole, refused bool) {
	w := &o.wire
	if whole {
		w.ready(fieldPolicy)
	} else {
		w.end(fieldPolicy, o.appendPolicies(w.text))
	}
	b, more := w.text, false
	for i := range o.items {
		it := &o.items[i]
		if !it.listed || refused && !o.violated(i) {
			continue
		}
		b = separate(b, more)
		more = true
		b = appendCount(append(b, it.rule.member...), o.remaining(i))
		b = w.appendTime(append(b, ";t="...), seconds(o.reset(i)))
	}
	if more {
		w.end(fieldRateLimit, b)
	}
}

// appendPolicies writes RateLimit-Policy where not every rule applies with its own Limit.
func (o *Outcome) appendPolicies(b []byte) []byte {
	from := len(b)
	for i := range o.items {
		if o.items[i].listed {
			b = separate(b, len(b) > from)
			b = appendPolicy(b, o.items[i].rule.quoted, *o.limit(i))
		}
	}
	return b
}

// remaining is never more than the quota, which a burst can be.
func (o *Outcome) remaining(i int) int64 { return min(o.charges[i].Remaining, o.limit(i).Requests) }

// reset is the wait of a violated rule, where there is one, else the time to the full quota: a client that divides
// r by t then sends no faster than the limit.
func (o *Outcome) reset(i int) time.Duration {
	if retry := o.charges[i].RetryAfter; o.violated(i) && retry != limiter.Never {
		return min(max(retry, time.Second), maxRetryAfter)
	}
	return max(0, o.charges[i].ResetAfter)
}

// maxRetryAfter is the longest wait that JavaScript's setTimeout takes, 2^31-1 ms in whole seconds: it fires at once
// on longer ones.
const maxRetryAfter = 2147483 * time.Second

// retryAfter writes Retry-After (RFC 9110, section 10.2.3) in seconds: never a fraction or 0, which clients misread.
func (w *wire) retryAfter(d time.Duration) {
	if d == limiter.Never {
		return
	}
	wait := seconds(min(max(d, time.Second), maxRetryAfter))
	if wait == w.time.seconds {
		w.fields = append(w.fields, field{fieldRetryAfter, w.time.from, w.time.to})
	} else {
		w.number(fieldRetryAfter, wait)
	}
}

// seconds rounds up.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// epoch is the Unix time in seconds of d from now, rounded up as a whole.
func epoch(now time.Time, d time.Duration) int64 {
	s := now.Unix() + int64(d/time.Second)
	return s + seconds(time.Duration(now.Nanosecond())+d%time.Second)
}

// appendPolicy writes a member of RateLimit-Policy; name is quoted already.
func appendPolicy(b []byte, name string, l limiter.Limit) []byte {
	b = append(b, name...)
	b = appendCount(append(b, ";q="...), l.Requests)
	return appendCount(append(b, ";w="...), seconds(l.Window))
}

// quote makes a String of structured fields (RFC 9651, section 4.1.6). s is printable ASCII.
func quote(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) + `"`
}

// fullPolicy is RateLimit-Policy when every rule applies with its own Limit.
func (s *settings) fullPolicy() string {
	var b []byte
	for i := range s.rules {
		if s.rules[i].visible() {
			b = appendPolicy(separate(b, len(b) > 0), s.rules[i].quoted, s.rules[i].Limit)
		}
	}
	return string(b)
}

// visible tells whether clients learn of the rule.
func (r *rule) visible() bool { return !r.Shadow && !r.Private }
