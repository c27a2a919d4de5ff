package httplimit

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Verdict is what one rule says of one request.
type Verdict struct {
	Rule  string        // its name
	Limit limiter.Limit // the limit that held
	Cost  int64         // what the request was to spend
	limiter.Decision
}

// Denial is a refusal: what a custom answer is made from. It owns its Rules and may be kept. Its zero value is no
// refusal and not to be served.
type Denial struct {
	// Status is 429, or 503 where a rule with FailClosed applies and the store cannot decide, or 499 where the
	// client left before a decision: then nothing needs to be answered.
	Status int
	// RetryAfter is how long until the request can pass if nobody else spends anything: the longest wait of
	// the violated rules, [limiter.Never] if one of them can never allow it, because the request costs more than
	// its limit allows at once. With 503, when to try again.
	RetryAfter time.Duration
	// Rules are the violated rules, none of them Private; with 503 the rules with FailClosed.
	Rules []Verdict
}

// statusClientClosed is what nginx logs for a client that left before the answer; it never reaches a wire.
const statusClientClosed = 499

const (
	problemQuota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	problemCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"

	headQuota    = `{"type":"` + problemQuota + `","title":"Request cannot be satisfied as assigned quota has been exceeded","status":`
	headCapacity = `{"type":"` + problemCapacity + `","title":"Request cannot be satisfied due to temporary server capacity constraints","status":`
)

// ServeHTTP writes the default answer: a problem document (RFC 9457) with the types of
// draft-ietf-httpapi-ratelimit-headers-11, section 5. The header fields of the refusal are not its work: they are
// set before Config.OnDeny is called.
func (d Denial) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.Status == statusClientClosed {
		return
	}
	body := bodies.Get().(*[]byte)
	defer bodies.Put(body)
	serveProblem(w, r, d.Status, make([]string, 1), func() []byte {
		*body = d.appendProblem((*body)[:0])
		return *body
	})
}

// bodies keeps buffers for answers: refusals come in floods.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// serveProblem writes an answer whose body is problem's, with value as room for a field.
func serveProblem(w http.ResponseWriter, r *http.Request, status int, value []string, problem func() []byte) {
	value[0] = "application/problem+json"
	w.Header()["Content-Type"] = value
	if unreadBody(r) {
		// Otherwise net/http reads up to 256 KiB of it before it sends the refusal, at the client's pace.
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(problem()) // a client that has left is no fault of ours
	}
}

// unreadBody tells whether the server would wait for much of the request's body.
func unreadBody(r *http.Request) bool {
	const little = 64 << 10
	return r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > little)
}

// MarshalJSON returns the problem document that ServeHTTP writes.
func (d Denial) MarshalJSON() ([]byte, error) {
	const usual = 256 // bytes; with one rule it is about 190
	return d.appendProblem(make([]byte, 0, usual)), nil
}

func (d *Denial) appendProblem(b []byte) []byte {
	head := headQuota
	if d.Status == http.StatusServiceUnavailable {
		head = headCapacity
	}
	b = strconv.AppendInt(append(b, head...), int64(d.Status), 10)
	b = append(b, `,"violated-policies":[`...)
	for i := range d.Rules {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, d.Rules[i].Rule)
	}
	return append(b, `]}`...)
}

// appendJSON writes a string. Rule names seldom need an escape, and then this saves two allocations a refusal.
func appendJSON(b []byte, s string) []byte {
	if !plainJSON(s) {
		escaped, _ := json.Marshal(s) // a string always has a JSON form
		return append(b, escaped...)
	}
	b = append(append(b, '"'), s...)
	return append(b, '"')
}

func plainJSON(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20, c > 0x7E, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
