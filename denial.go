package httplimit

import (
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/httplimit/httplimit/internal/fields"
	"github.com/httplimit/httplimit/limiter"
)

// Denied returns the refusal that answers a request with this verdict, and false where the verdict is no reason to
// refuse: for handlers that call [Middleware.Allow]. [Denial.ServeHTTP] writes the whole answer, Retry-After included;
// the adapters have a Deny each. A Private rule is not named in it, and a Shadow rule never refuses. The zero Verdict,
// which Allow returns with an error, refuses without a name.
func (v Verdict) Denied() (Denial, bool) {
	if v.Allowed || v.shadow {
		return Denial{}, false
	}
	d := Denial{Status: http.StatusTooManyRequests, RetryAfter: v.RetryAfter}
	if !v.private && v.Rule != "" {
		d.Rules = []Verdict{v}
	}
	return d, true
}

// Rule returns the rule to name in an answer: of the Rules the one with the longest wait, the first of equal ones. It
// returns false, and a Verdict without a name, where there is none, because all that were violated are Private. The
// wait of one of those can be longer: RetryAfter has it.
func (d Denial) Rule() (Verdict, bool) {
	var longest *Verdict
	for i := range d.Rules {
		if v := &d.Rules[i]; !v.private && (longest == nil || v.RetryAfter > longest.RetryAfter) {
			longest = v
		}
	}
	if longest == nil {
		return Verdict{}, false
	}
	return *longest, true
}

// Fields returns the header fields that tell a client when to come back, with names in net/http's canonical form:
// Retry-After, unless it is [limiter.Never], and Cache-Control. They are set before OnDeny is called, and by ServeHTTP;
// in a handler whose framework does without net/http they are to be set from here.
func (d Denial) Fields() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		wait, ends := fields.RetryAfter(d.RetryAfter)
		_ = (!ends || yield(fieldRetryAfter, wait)) && yield(fieldCacheControl, fields.NoStore)
	}
}

const (
	fieldRetryAfter   = "Retry-After"
	fieldCacheControl = "Cache-Control"
)

// SetFields sets in h, the header of the answer to r, what ServeHTTP sets there beside Content-Type: those of the
// Fields that h does not have, and Connection: close where the server would otherwise read a long body before it
// answers.
func (d Denial) SetFields(h http.Header, r *http.Request) {
	d.setMissing(h)
	closeUnread(h, r)
}

// setMissing sets those of the Fields that h does not have. Mostly it has them all, and this costs nothing.
func (d Denial) setMissing(h http.Header) {
	if _, set := h[fieldRetryAfter]; !set && d.RetryAfter != limiter.Never {
		wait, _ := fields.RetryAfter(d.RetryAfter)
		h[fieldRetryAfter] = []string{wait}
	}
	if _, set := h[fieldCacheControl]; !set {
		h[fieldCacheControl] = []string{fields.NoStore}
	}
}

// String returns a line for people, such as `refused with 429 by "login", retry after 7s`. It names no Private rule.
func (d Denial) String() string {
	if d.Status == 0 {
		return "not refused"
	}
	text := fmt.Sprintf("refused with %d", d.Status)
	for i, name := range d.names() {
		text += fmt.Sprintf("%s %q", [...]string{" by", " and"}[min(i, 1)], name)
	}
	if d.RetryAfter == limiter.Never {
		return text + ", can never pass"
	}
	wait := min(max(d.RetryAfter, 1), limiter.Never-time.Second) // the sum does not overflow
	return text + ", retry after " + (wait + time.Second - 1).Truncate(time.Second).String()
}

// LogValue makes a group for [log/slog] of the status, the names of the rules and the wait: the JSON of a Denial is the
// body for clients, which lacks the wait.
func (d Denial) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("status", d.Status), slog.Any("rules", d.names()), waitAttr(d.RetryAfter))
}

// waitAttr returns a wait for the log.
func waitAttr(wait time.Duration) slog.Attr {
	if wait == limiter.Never {
		return slog.String("retry_after", "never")
	}
	return slog.Duration("retry_after", wait)
}

// names returns the names of the Rules.
func (d Denial) names() []string {
	names := make([]string, 0, len(d.Rules))
	for i := range d.Rules {
		if !d.Rules[i].private {
			names = append(names, d.Rules[i].Rule)
		}
	}
	return names
}
