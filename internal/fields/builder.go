package fields

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Builder builds the fields of one answer after another. The zero Builder is ready for use. It belongs to one goroutine
// and keeps its memory for the next answer; no answer shares values with another.
type Builder struct {
	text   []byte // the values under construction, one behind the other
	fields []field
	all    *Policies // of the configuration
	wait   writtenWait
	arena  arena
}

// field is a header field under construction. Its value is text[from:to], or a constant where from is negative.
type field struct {
	name     fieldName
	from, to int32
}

// writtenWait is the last wait of RateLimit, which is mostly that of Retry-After too: to write it once saves a refusal
// a twentieth of its time.
type writtenWait struct {
	seconds  int64
	from, to int32 // in the text
}

// Standing is where a client stands with one policy. It has no pointers, so that writing it costs no write barrier.
type Standing struct {
	Policy     int // index of its name
	Quota      int64
	Window     time.Duration
	InFlight   bool          // the quota is of requests at once: there is no window, and no time to tell
	Remaining  int64         // what is left of the quota
	ResetAfter time.Duration // until the whole quota is free again
	Violated   bool          // the policy refused the request
	RetryAfter time.Duration // of a violated policy: until the request passes, [Never] if it cannot
}

// Never is the RetryAfter of a request that can never pass.
const Never = time.Duration(math.MaxInt64)

// isEndless reports whether no wait frees anything of the policy: its quota is 0.
func (s *Standing) isEndless() bool { return s.Quota == 0 }

// wait returns what a style's reset says: the wait of a violated policy that ends, else the time to the full quota. A
// client that divides remaining by reset then sends no faster than the limit. Where nothing is ever free it is the
// window: the styles that cannot leave it out must not send the client back at once.
func (s *Standing) wait() time.Duration {
	if s.isEndless() {
		return clamp(s.Window)
	}
	if s.Violated && s.RetryAfter != Never {
		return clamp(s.RetryAfter)
	}
	return max(0, s.ResetAfter)
}

// Policies are what a configuration says of its policies once for all answers.
type Policies struct {
	Names []string // as [Quote] returns them
	Field string   // RateLimit-Policy if all visible policies apply with their usual limits, see [AppendPolicy]
}

// Standings adds the fields of style. list has the policies that the client may know of, in their order; usual says
// that these are the ones in all.Field. With refused only the violated ones say where the client stands, so that no
// reset is later than Retry-After.
func (b *Builder) Standings(style Style, all *Policies, list []Standing, usual, refused bool) {
	if len(list) == 0 {
		return
	}
	if b.all != all {
		b.all = all // written where it changes: avoids a write barrier
	}
	if style&RateLimit != 0 {
		b.addPolicies(list, usual)
		b.addRateLimit(list, refused)
	}
	if style != RateLimit {
		b.addLegacy(style, list, refused)
	}
}

// addPolicies adds RateLimit-Policy of draft 11, section 3.
func (b *Builder) addPolicies(list []Standing, usual bool) {
	if usual {
		b.addReady(namePolicy)
		return
	}
	text := b.text
	for i := range list {
		text = separate(text, i > 0)
		p := &list[i]
		text = AppendPolicy(text, b.all.Names[p.Policy], p.Quota, p.Window, p.InFlight)
	}
	b.add(namePolicy, text)
}

// addRateLimit adds RateLimit of draft 11, section 4.
func (b *Builder) addRateLimit(list []Standing, refused bool) {
	text, some := b.text, false
	for i := range list {
		p := &list[i]
		if refused && !p.Violated {
			continue
		}
		text = append(separate(text, some), b.all.Names[p.Policy]...)
		text = appendCount(append(text, ";r="...), p.Remaining)
		some = true
		if p.InFlight || p.isEndless() {
			continue // without t, which is optional
		}
		text = append(text, ";t="...)
		from, wait := len(text), Seconds(p.wait())
		text = appendCount(text, wait)
		b.wait = writtenWait{wait, int32(from), int32(len(text))}
	}
	if some {
		b.add(nameRateLimit, text)
	}
}

// maxWait is the longest wait that JavaScript's setTimeout takes, 2^31-1 ms in whole seconds: it fires at once on
// longer ones.
const maxWait = 2147483 * time.Second

// clamp keeps a wait between one second, because clients misread 0, and maxWait.
func clamp(d time.Duration) time.Duration { return min(max(d, time.Second), maxWait) }

// Refusal adds Retry-After (RFC 9110, section 10.2.3) in whole seconds, rounded up, 1 to 2147483, but none for Never;
// and Cache-Control: no-store, because RFC 6585, section 4 forbids caches to store a 429 and some do it all the same.
func (b *Builder) Refusal(retryAfter time.Duration) {
	switch wait := RetryAfterSeconds(retryAfter); {
	case retryAfter == Never:
	case wait == b.wait.seconds:
		b.fields = append(b.fields, field{nameRetryAfter, b.wait.from, b.wait.to})
	default:
		b.addNumber(nameRetryAfter, wait)
	}
	b.addReady(nameCacheControl)
}

// RetryAfter returns the value of Retry-After that Refusal adds, false for Never.
func RetryAfter(wait time.Duration) (value string, ok bool) {
	return strconv.FormatInt(RetryAfterSeconds(wait), 10), wait != Never
}

// RetryAfterSeconds returns the number in Retry-After for a wait that ends.
func RetryAfterSeconds(wait time.Duration) int64 { return Seconds(clamp(wait)) }

// NoStore is the value of Cache-Control that Refusal adds.
const NoStore = "no-store"

// Reset makes room for the next answer.
func (b *Builder) Reset() {
	b.text = b.text[:0]
	b.fields = b.fields[:0]
	b.wait.seconds = 0 // less than any Retry-After
}

// add adds the field whose value was appended to b.text, which gave text.
func (b *Builder) add(name fieldName, text []byte) {
	b.fields = append(b.fields, field{name, int32(len(b.text)), int32(len(text))})
	if cap(text) == cap(b.text) {
		b.text = b.text[:len(text)] // the same memory: avoids a write barrier
	} else {
		b.text = text
	}
}

func (b *Builder) addNumber(name fieldName, n int64) { b.add(name, appendCount(b.text, n)) }

// addReady adds a field whose value needs no building.
func (b *Builder) addReady(name fieldName) { b.fields = append(b.fields, field{name, -1, -1}) }

// AppendPolicy appends a member of RateLimit-Policy. name is quoted. inFlight says that the quota is of requests at
// once, which the default of qu is not.
func AppendPolicy(text []byte, name string, quota int64, window time.Duration, inFlight bool) []byte {
	text = append(text, name...)
	text = appendCount(append(text, ";q="...), quota)
	if inFlight {
		return append(text, `;qu="concurrent-requests"`...)
	}
	return appendCount(append(text, ";w="...), Seconds(window))
}

// Quote returns s as a String of structured fields (RFC 9651, section 4.1.6). s must be printable ASCII.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(s) + `"`
}

// Seconds returns d in seconds, rounded up.
func Seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// separate appends the comma between two members of a list.
func separate(text []byte, more bool) []byte {
	if more {
		return append(text, ", "...)
	}
	return text
}

// appendCount appends an Integer of structured fields: at most 15 digits (RFC 9651, section 3.3.1).
func appendCount(text []byte, n int64) []byte {
	return strconv.AppendUint(text, uint64(min(max(n, 0), 999_999_999_999_999)), 10)
}
