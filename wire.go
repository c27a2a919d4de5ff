package httplimit

import (
	"iter"
	"net/http"
	"strconv"
	"strings"
)

// fieldName is an index of fieldNames: an answer under construction has no pointers, so the garbage collector need not
// be told of it.
type fieldName int32

const (
	fieldPolicy fieldName = iota
	fieldRateLimit
	fieldLimit
	fieldRemaining
	fieldReset
	fieldXLimit
	fieldXRemaining
	fieldXReset
	fieldRetryAfter
	fieldCache
)

// fieldNames are in the form that net/http's Header has for keys.
var fieldNames = [...]string{
	fieldPolicy:     "Ratelimit-Policy",
	fieldRateLimit:  "Ratelimit",
	fieldLimit:      "Ratelimit-Limit",
	fieldRemaining:  "Ratelimit-Remaining",
	fieldReset:      "Ratelimit-Reset",
	fieldXLimit:     "X-Ratelimit-Limit",
	fieldXRemaining: "X-Ratelimit-Remaining",
	fieldXReset:     "X-Ratelimit-Reset",
	fieldRetryAfter: "Retry-After",
	fieldCache:      "Cache-Control",
}

// adds tells whether a field may stand in several lines, those of other layers among them.
func (n fieldName) adds() bool { return n == fieldPolicy || n == fieldRateLimit }

// field is a header field under construction: from and to bound its value in the text of all of them.
type field struct {
	name     fieldName
	from, to int32 // from is -1 where the value is there already
}

// wire builds the fields of one answer after the other.
type wire struct {
	text   []byte
	fields []field
	shelf  shelf
	time   writtenTime
}

// writtenTime is the last time that RateLimit tells of: after a refusal it is nearly always that of Retry-After too.
type writtenTime struct {
	seconds  int64
	from, to int32 // in the text
}

// appendTime writes the t of RateLimit to b, which becomes the text.
func (w *wire) appendTime(b []byte, seconds int64) []byte {
	from := len(b)
	b = appendCount(b, seconds)
	w.time = writtenTime{seconds, int32(from), int32(len(b))}
	return b
}

func (w *wire) reset() {
	w.text = w.text[:0]
	w.fields = w.fields[:0]
	w.time.seconds = 0 // less than any Retry-After
}

func (w *wire) ready(name fieldName) { w.fields = append(w.fields, field{name, -1, 0}) }

// end takes in the field whose value was appended to text.
func (w *wire) end(name fieldName, text []byte) {
	w.fields = append(w.fields, field{name, int32(len(w.text)), int32(len(text))})
	if cap(text) == cap(w.text) {
		w.text = w.text[:len(text)] // it has not moved, and no pointer is written
	} else {
		w.text = text
	}
}

func (w *wire) number(name fieldName, n int64) { w.end(name, appendCount(w.text, n)) }

// value returns the value of a field, text being that of all of them and policy that of RateLimit-Policy where it is ready.
func (f *field) value(text, policy string) string {
	switch {
	case f.from >= 0:
		return text[f.from:f.to]
	case f.name == fieldPolicy:
		return policy
	}
	return "no-store"
}

func (w *wire) all(policy string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		text := w.shelf.text(w.text)
		for i := range w.fields {
			if f := &w.fields[i]; !yield(fieldNames[f.name], f.value(text, policy)) {
				return
			}
		}
	}
}

func (w *wire) each(policy string, set func(name string, value []byte, adds bool)) {
	for i := range w.fields {
		f := &w.fields[i]
		from, to := f.from, f.to
		if from < 0 {
			from = int32(len(w.text))
			w.text = append(w.text, f.value("", policy)...)
			to = int32(len(w.text))
		}
		set(fieldNames[f.name], w.text[from:to:to], f.name.adds()) // what is appended to it must not reach the next value
	}
}

// writeTo sets the fields; those that may stand in several lines are added to what other layers wrote. The values
// get slices of their own: later handlers may write into them.
func (w *wire) writeTo(h http.Header, policy string) {
	if len(w.fields) == 0 {
		return
	}
	text, values := w.shelf.text(w.text), w.shelf.values(len(w.fields))
	others := len(h) > 0
	for i := range w.fields {
		f := &w.fields[i]
		name := fieldNames[f.name]
		values[i] = f.value(text, policy)
		if others && f.name.adds() {
			if before := h[name]; len(before) > 0 {
				h[name] = append(before[:len(before):len(before)], values[i])
				continue
			}
		}
		h[name] = values[i : i+1 : i+1]
	}
}

// shelf is room for the values of the next few answers, which together cost two allocations instead of two each. A
// handler that runs for hours keeps its whole shelf in memory, so it is small: half a kilobyte each of text and of
// values, where a connection has some twenty.
type shelf struct {
	texts strings.Builder // never writes again to what it has handed out
	room  []string
	used  int // of room
}

const (
	shelfTexts  = 512 // bytes
	shelfValues = 32  // of 16 bytes
)

// text returns b as a string.
func (s *shelf) text(b []byte) string {
	if s.texts.Cap()-s.texts.Len() < len(b) {
		s.texts.Reset()
		s.texts.Grow(max(len(b), shelfTexts))
	}
	from := s.texts.Len()
	s.texts.Write(b)
	return s.texts.String()[from:]
}

// values returns a slice that nobody else has, not even beyond its end.
func (s *shelf) values(n int) []string {
	if s.used+n > len(s.room) {
		s.room, s.used = make([]string, max(n, shelfValues)), 0
	}
	from := s.used
	s.used += n
	return s.room[from:s.used:s.used]
}

func separate(b []byte, more bool) []byte {
	if more {
		return append(b, ", "...)
	}
	return b
}

// appendCount writes an Integer of structured fields: at most 15 digits (RFC 9651, section 3.3.1).
func appendCount(b []byte, n int64) []byte {
	return strconv.AppendUint(b, uint64(min(max(n, 0), 999_999_999_999_999)), 10)
}
