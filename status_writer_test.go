package httplimit_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// server writes answers as net/http does, as far as the status is concerned.
type server struct {
	header    http.Header
	status    int // that was sent
	hijacked  bool
	body      bytes.Buffer
	pushed    []string
	flushErr  error
	deadlines int
	below     int // abilities of the writer behind Unwrap
}

var errBroken = errors.New("broken pipe")

func (s *server) Header() http.Header { return s.header }

func (s *server) WriteHeader(code int) {
	if code < 100 || code > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", code))
	}
	if !s.hijacked && s.status == 0 && (code >= 200 || code == 101) {
		s.status = code
	}
}

func (s *server) Write(b []byte) (int, error) {
	if s.hijacked {
		return 0, http.ErrHijacked
	}
	s.WriteHeader(http.StatusOK)
	return s.body.Write(b)
}

func (s *server) flush() error {
	if errors.Is(s.flushErr, http.ErrNotSupported) {
		return s.flushErr
	}
	s.WriteHeader(http.StatusOK)
	return s.flushErr
}

// The abilities of a server's writer, in the order of their bits in a set.
type (
	flushes       struct{ s *server }
	flushesError  struct{ s *server }
	hijacks       struct{ s *server }
	readsFrom     struct{ s *server }
	pushes        struct{ s *server }
	writesStrings struct{ s *server }
	notifies      struct{ s *server }
	unwraps       struct{ s *server }
)

func (w flushes) Flush()                 { w.s.WriteHeader(http.StatusOK) } // cannot say that it did not
func (w flushesError) FlushError() error { return w.s.flush() }

func (w hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.s.hijacked {
		return nil, nil, http.ErrHijacked
	}
	w.s.hijacked = true
	return nil, nil, nil
}

func (w readsFrom) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{w.s}, src)
}

func (w pushes) Push(target string, _ *http.PushOptions) error {
	w.s.pushed = append(w.s.pushed, target)
	return nil
}

func (w writesStrings) WriteString(text string) (int, error) { return w.s.Write([]byte(text)) }
func (w notifies) CloseNotify() <-chan bool                  { return nil }

// Unwrap leads to a writer that has deadlines, and other abilities than the one above.
func (w unwraps) Unwrap() http.ResponseWriter {
	return serverWriter(w.s, w.s.below&^unwrapBit)
}

func (s *server) SetReadDeadline(time.Time) error  { s.deadlines++; return nil }
func (s *server) SetWriteDeadline(time.Time) error { s.deadlines++; return nil }
func (s *server) EnableFullDuplex() error          { s.deadlines++; return nil }

const (
	flushBit = 1 << iota
	flushErrorBit
	hijackBit
	readFromBit
	_
	_
	_
	unwrapBit
	allSets
)

// can returns what a handler finds that a writer can do, but for Unwrap.
func can(w http.ResponseWriter) string {
	var found []string
	note := func(name string, ok bool) {
		if ok {
			found = append(found, name)
		}
	}
	_, ok := w.(http.Flusher)
	note("Flush", ok)
	_, ok = w.(interface{ FlushError() error })
	note("FlushError", ok)
	_, ok = w.(http.Hijacker)
	note("Hijack", ok)
	_, ok = w.(io.ReaderFrom)
	note("ReadFrom", ok)
	_, ok = w.(http.Pusher)
	note("Push", ok)
	_, ok = w.(io.StringWriter)
	note("WriteString", ok)
	_, ok = w.(interface{ CloseNotify() <-chan bool })
	note("CloseNotify", ok)
	return strings.Join(found, " ")
}

// settled serves one request with h over w, by a rule with CountStatus, and returns the status that it was asked about;
// 0 if the request counts without a question.
func settled(t testing.TB, w http.ResponseWriter, h http.HandlerFunc) (status int) {
	rule := ip(limiter.PerDay(5))
	rule.CountStatus = func(s int) bool { status = s; return false }
	m, err := httplimit.New(httplimit.Config{Store: &scripted{}, Rules: []httplimit.Rule{rule}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		m.Handler(h).ServeHTTP(w, get())
	}()
	return status
}

func newServer(below int) *server { return &server{header: make(http.Header), below: below} }

// TestHandlersSeeTheWriterThatThereIs: of all sets of abilities.
func TestHandlersSeeTheWriterThatThereIs(t *testing.T) {
	for set := range allSets {
		w := serverWriter(newServer(0), set)
		settled(t, w, func(got http.ResponseWriter, _ *http.Request) {
			if got == w {
				t.Fatalf("set %#x: the writer is not watched", set)
			}
			if can(got) != can(w) {
				t.Errorf("set %#x: the handler sees %q, want %q", set, can(got), can(w))
			}
			below := got
			for range 2 { // past what watches the answer
				below = below.(interface{ Unwrap() http.ResponseWriter }).Unwrap()
			}
			if below != w {
				t.Errorf("set %#x: Unwrap leads to %T, want the writer itself", set, below)
			}
		})
	}
}

// TestWhatIsBehindUnwrapIsReached by http.ResponseController, whatever the writer above can do.
func TestWhatIsBehindUnwrapIsReached(t *testing.T) {
	for set := range allSets {
		for _, below := range []int{0, flushBit, flushErrorBit, hijackBit, flushErrorBit | hijackBit} {
			flush := set&(flushBit|flushErrorBit) != 0 || set&unwrapBit != 0 && below&(flushBit|flushErrorBit) != 0
			hijack := set&hijackBit != 0 || set&unwrapBit != 0 && below&hijackBit != 0
			s := newServer(below)
			s.flushErr = errBroken
			settled(t, serverWriter(s, set), func(w http.ResponseWriter, _ *http.Request) {
				c := http.NewResponseController(w)
				err := c.Flush()
				if flush == errors.Is(err, http.ErrNotSupported) {
					t.Errorf("set %#x over %#x: Flush: %v, want support %v", set, below, err, flush)
				}
				tellsErrors := set&flushErrorBit != 0 || set&flushBit == 0 && set&unwrapBit != 0 && below&flushErrorBit != 0
				if tellsErrors != (err == errBroken) {
					t.Errorf("set %#x over %#x: Flush: %v, want its error %v", set, below, err, tellsErrors)
				}
				if errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{}), c.EnableFullDuplex()) != nil ||
					s.deadlines != 3 {
					t.Errorf("set %#x over %#x: the deadlines are out of reach", set, below)
				}
				if _, _, err := c.Hijack(); hijack == errors.Is(err, http.ErrNotSupported) {
					t.Errorf("set %#x over %#x: Hijack: %v, want support %v", set, below, err, hijack)
				}
			})
			if s.hijacked != hijack {
				t.Errorf("set %#x over %#x: hijacked %v, want %v", set, below, s.hijacked, hijack)
			}
		}
	}
}

// endsEarly is a body that fails, or panics, after so many bytes.
type endsEarly struct {
	left   int
	panics bool
}

func (e *endsEarly) Read(b []byte) (int, error) {
	if e.left == 0 && e.panics {
		panic(http.ErrAbortHandler)
	}
	if e.left == 0 {
		return 0, errBroken
	}
	e.left--
	b[0] = 'x'
	return 1, nil
}

// act does what one byte says to a writer, as handlers do: by type assertions and by http.ResponseController.
func act(w http.ResponseWriter, op byte) {
	c := http.NewResponseController(w)
	switch op % 16 {
	case 0, 1, 2, 3:
		w.WriteHeader([]int{200, 401, 302, 500}[op%4])
	case 4:
		w.WriteHeader(103)
	case 5:
		w.WriteHeader(int(op) * 8) // sometimes no status at all, which panics
	case 6:
		_, _ = w.Write([]byte("x"))
	case 7:
		_, _ = io.WriteString(w, "x")
	case 8:
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	case 9:
		_ = c.Flush()
	case 10:
		if h, ok := w.(http.Hijacker); ok {
			_, _, _ = h.Hijack()
		}
	case 11:
		_, _, _ = c.Hijack()
	case 12:
		_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", int(op)/16%3)))
	case 13:
		_, _ = io.Copy(w, &endsEarly{left: int(op) / 64 % 2, panics: op/128 == 1})
	case 14:
		_ = c.SetWriteDeadline(time.Time{})
		if p, ok := w.(http.Pusher); ok {
			_ = p.Push("/style.css", nil)
		}
	case 15:
		if op > 200 {
			panic(http.ErrAbortHandler)
		}
	}
}

// FuzzTheStatusNotedIsTheOneSent plays calls of a handler to writers of all kinds. What the rule is told is what the
// server has sent; where that cannot be known the request counts, and the rule is not asked.
func FuzzTheStatusNotedIsTheOneSent(f *testing.F) {
	for set := range allSets {
		f.Add(uint8(set), uint8(set*7), uint8(set%3), []byte{4, 9, 1})
	}
	f.Add(uint8(0xff), uint8(0), uint8(0), []byte{13, 1})
	f.Add(uint8(readFromBit), uint8(0), uint8(0), []byte{12, 1})
	f.Add(uint8(readFromBit), uint8(0), uint8(0), []byte{141})
	f.Add(uint8(unwrapBit), uint8(hijackBit), uint8(0), []byte{4, 11, 1})
	f.Add(uint8(0), uint8(0), uint8(0), []byte{5, 0})
	f.Add(uint8(flushErrorBit|unwrapBit), uint8(flushBit), uint8(1), []byte{9, 1})
	f.Fuzz(func(t *testing.T, set, below, flushErr uint8, ops []byte) {
		s := newServer(int(below))
		s.flushErr = []error{nil, http.ErrNotSupported, errBroken}[flushErr%3]
		returned, unsure, atHijack := false, false, 0
		got := settled(t, serverWriter(s, int(set)), func(w http.ResponseWriter, _ *http.Request) {
			for _, op := range ops {
				sent, hijacked := s.status, s.hijacked
				unsure = unsure || sent == 0 && op%16 == 13 && set&readFromBit != 0
				act(w, op)
				if s.hijacked && !hijacked {
					atHijack = http.StatusSwitchingProtocols
				}
			}
			returned = true
		})
		want := s.status
		switch {
		case atHijack != 0:
			want = atHijack
		case want == 0 && returned:
			want = http.StatusOK
		case want == 0:
			want = http.StatusInternalServerError
		}
		if got != want && !(unsure && got == 0) {
			t.Errorf("set %#x over %#x, calls %v: settled with %d, want %d", set, below, ops, got, want)
		}
	})
}

// TestTheStatusIsUnknown where a handler may have sent something or not: then the request counts.
func TestTheStatusIsUnknown(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a body that cannot be read": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.(io.ReaderFrom).ReadFrom(&endsEarly{})
		},
		"a body that panics": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.(io.ReaderFrom).ReadFrom(&endsEarly{left: 1, panics: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := settled(t, serverWriter(newServer(0), readFromBit), h); got != 0 {
				t.Errorf("settled with %d, want no question", got)
			}
		})
	}
	t.Run("http.TimeoutHandler has answered", func(t *testing.T) {
		got, answered := make(chan int, 1), make(chan struct{})
		limited := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			got <- settled(t, w, func(w http.ResponseWriter, _ *http.Request) {
				<-answered
				_, _ = io.WriteString(w, "too late")
			})
		})
		http.TimeoutHandler(limited, time.Millisecond, "").ServeHTTP(newServer(0), get())
		close(answered)
		if status := <-got; status != 0 {
			t.Errorf("settled with %d, want no question", status)
		}
	})
}
