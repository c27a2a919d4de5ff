package httplimit

import (
	"errors"
	"iter"
	"math/bits"
	"net/http"
	"strconv"
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

// The names in the form that net/http's Header has for keys.
const (
	headerPolicy     = "Ratelimit-Policy"
	headerRateLimit  = "Ratelimit"
	headerLimit      = "Ratelimit-Limit"
	headerRemaining  = "Ratelimit-Remaining"
	headerReset      = "Ratelimit-Reset"
	headerXLimit     = "X-Ratelimit-Limit"
	headerXRemaining = "X-Ratelimit-Remaining"
	headerXReset     = "X-Ratelimit-Reset"
	headerRetryAfter = "Retry-After"
	headerCache      = "Cache-Control"
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
	return append(names, headerRetryAfter)
}

// standing is what fields tell of one rule.
type standing struct {
	rule     *rule
	limit    *limiter.Limit // that holds, the rule's own or another
	decision *limiter.Decision
	violated bool
}

// field is a header field under construction: from and to bound its value in the text of all of them, so that an
// answer costs one string.
type field struct {
	name     string
	from, to int
	ready    string // the value, where it need not be built
}

// wire builds the fields of one answer.
type wire struct {
	text   []byte
	fields []field
	done   string // text as a string
}

func (w *wire) reset() { w.text, w.fields, w.done = w.text[:0], w.fields[:0], "" }

func (w *wire) ready(name, value string) {
	w.fields = append(w.fields, field{name: name, ready: value})
}

// end closes the field whose value was appended to text since from.
func (w *wire) end(name string, from int) {
	w.fields = append(w.fields, field{name: name, from: from, to: len(w.text)})
}

func (w *wire) number(name string, n int64) {
	from := len(w.text)
	w.text = appendCount(w.text, n)
	w.end(name, from)
}

func (w *wire) value(f *field) string {
	if f.ready != "" {
		return f.ready
	}
	return w.done[f.from:f.to]
}

func (w *wire) all() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range w.fields {
			if f := &w.fields[i]; !yield(f.name, w.value(f)) {
				return
			}
		}
	}
}

// writeTo sets the fields; those that may stand in several lines are added to what other layers wrote. The values
// get slices of their own: later handlers may write into them.
func (w *wire) writeTo(h http.Header) {
	if len(w.fields) == 0 {
		return
	}
	values := make([]string, len(w.fields))
	others := len(h) > 0
	for i := range w.fields {
		f := &w.fields[i]
		values[i] = w.value(f)
		if others && (f.name == headerRateLimit || f.name == headerPolicy) {
			if before := h[f.name]; len(before) > 0 {
				h[f.name] = append(before[:len(before):len(before)], values[i])
				continue
			}
		}
		h[f.name] = values[i : i+1 : i+1]
	}
}

// standings writes the fields of the style. full is RateLimit-Policy where all of it is known beforehand.
func (w *wire) standings(style HeaderStyle, list []standing, full string, refused bool) {
	if len(list) == 0 || style == NoHeaders {
		return
	}
	if style&RateLimitFields != 0 {
		w.structured(list, full, refused)
	}
	if style == RateLimitFields {
		return
	}
	one := reported(list)
	if refused && !one.violated {
		return // what refused the request is not to be told
	}
	reset := seconds(one.reset())
	switch {
	case style&RateLimitDraft07 != 0:
		w.legacyPolicy(list)
		from := len(w.text)
		w.text = appendCount(append(w.text, "limit="...), one.limit.Requests)
		w.text = appendCount(append(w.text, ", remaining="...), one.remaining())
		w.text = appendCount(append(w.text, ", reset="...), reset)
		w.end(headerRateLimit, from)
	case style&RateLimitDraft06 != 0:
		w.legacyPolicy(list)
		w.number(headerLimit, one.limit.Requests)
		w.number(headerRemaining, one.remaining())
		w.number(headerReset, reset)
	}
	if style&(XRateLimitEpoch|XRateLimitDelta) == 0 {
		return
	}
	w.number(headerXLimit, one.limit.Requests)
	w.number(headerXRemaining, one.remaining())
	if style&XRateLimitEpoch != 0 {
		reset = epoch(time.Now(), one.reset())
	}
	w.number(headerXReset, reset)
}

// structured writes drafts 08 to 11: all policies, and where the client stands in each; after a refusal only in
// those that were violated, so that no t is later than Retry-After.
func (w *wire) structured(list []standing, full string, refused bool) {
	if full != "" {
		w.ready(headerPolicy, full)
	} else {
		from := len(w.text)
		for i := range list {
			w.text = separate(w.text, i > 0)
			w.text = appendPolicy(w.text, list[i].rule.quoted, *list[i].limit)
		}
		w.end(headerPolicy, from)
	}
	from := len(w.text)
	for i := range list {
		s := &list[i]
		if refused && !s.violated {
			continue
		}
		w.text = separate(w.text, len(w.text) > from)
		w.text = append(w.text, s.rule.quoted...)
		w.text = appendCount(append(w.text, ";r="...), s.remaining())
		w.text = appendCount(append(w.text, ";t="...), seconds(s.reset()))
	}
	if len(w.text) > from {
		w.end(headerRateLimit, from)
	}
}

// legacyPolicy writes RateLimit-Policy of drafts 04 to 07: two policies must not have the same quota, so only the
// one with the longest window is kept.
func (w *wire) legacyPolicy(list []standing) {
	from := len(w.text)
	for i, s := range list {
		if eclipsed(list, i) {
			continue
		}
		w.text = separate(w.text, len(w.text) > from)
		w.text = appendCount(w.text, s.limit.Requests)
		w.text = appendCount(append(w.text, ";w="...), seconds(s.limit.Window))
	}
	w.end(headerPolicy, from)
}

func eclipsed(list []standing, i int) bool {
	for j := range list {
		if j == i || list[j].limit.Requests != list[i].limit.Requests {
			continue
		}
		if longer := list[j].limit.Window - list[i].limit.Window; longer > 0 || longer == 0 && j < i {
			return true
		}
	}
	return false
}

// reported chooses the one rule that the older styles can tell of: the violated one with the longest wait, else the
// one with the least left, of equal ones that with the later reset.
func reported(list []standing) *standing {
	best := &list[0]
	for i := 1; i < len(list); i++ {
		if s := &list[i]; s.before(best) {
			best = s
		}
	}
	return best
}

func (s *standing) before(t *standing) bool {
	switch {
	case s.violated != t.violated:
		return s.violated
	case s.violated:
		return s.decision.RetryAfter > t.decision.RetryAfter
	case s.remaining() != t.remaining():
		return s.remaining() < t.remaining()
	}
	return s.reset() > t.reset()
}

// remaining is never more than the quota, which a burst can be.
func (s *standing) remaining() int64 { return min(s.decision.Remaining, s.limit.Requests) }

// reset is the wait of a violated rule, where there is one, else the time to the full quota: a client that divides
// r by t then sends no faster than the limit.
func (s *standing) reset() time.Duration {
	if s.violated && s.decision.RetryAfter != limiter.Never {
		return min(max(s.decision.RetryAfter, time.Second), maxRetryAfter)
	}
	return max(0, s.decision.ResetAfter)
}

// maxRetryAfter is the longest wait that JavaScript's setTimeout takes, 2^31-1 ms in whole seconds: it fires at once
// on longer ones.
const maxRetryAfter = 2147483 * time.Second

// retryAfter writes Retry-After (RFC 9110, section 10.2.3) in seconds: never a fraction or 0, which clients misread.
func (w *wire) retryAfter(d time.Duration) {
	if d == limiter.Never {
		return
	}
	w.number(headerRetryAfter, seconds(min(max(d, time.Second), maxRetryAfter)))
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

func separate(b []byte, more bool) []byte {
	if more {
		return append(b, ", "...)
	}
	return b
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

// appendCount writes an Integer of structured fields: at most 15 digits (RFC 9651, section 3.3.1).
func appendCount(b []byte, n int64) []byte {
	return strconv.AppendInt(b, min(max(n, 0), 999_999_999_999_999), 10)
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
