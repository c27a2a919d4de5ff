package httplimit

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

//go:generate go run ./internal/writergen

// What a ResponseWriter can do besides the three methods of its interface. Handlers ask for it with a type assertion,
// and behave differently where it is missing, so the writer that a handler gets can do exactly what the one below can:
// see combine. What only http.ResponseController asks for, such as deadlines, it finds behind Unwrap.
const (
	canFlush = 1 << iota
	canFlushError
	canHijack
	canReadFrom
	canPush
	canWriteString
	canCloseNotify
)

type (
	flushErrorer  interface{ FlushError() error }
	closeNotifier interface{ CloseNotify() <-chan bool }
	unwrapper     interface{ Unwrap() http.ResponseWriter }
)

// abilities returns what w can do, as a set of the constants above.
func abilities(w http.ResponseWriter) (set int) {
	return ability[http.Flusher](w, canFlush) | ability[flushErrorer](w, canFlushError) |
		ability[http.Hijacker](w, canHijack) | ability[io.ReaderFrom](w, canReadFrom) |
		ability[http.Pusher](w, canPush) | ability[io.StringWriter](w, canWriteString) |
		ability[closeNotifier](w, canCloseNotify)
}

func ability[T any](w http.ResponseWriter, bit int) int {
	if _, ok := w.(T); ok {
		return bit
	}
	return 0
}

// writer returns the writer for the handler.
func (a *response) writer() http.ResponseWriter { return combine(a, abilities(a.inner)) }

func (a *response) Header() http.Header { return a.inner.Header() }

func (a *response) WriteHeader(code int) {
	a.inner.WriteHeader(code) // panics where code is none
	a.sent(code)
}

func (a *response) Write(b []byte) (int, error) {
	a.sent(http.StatusOK)
	n, err := a.inner.Write(b)
	if errors.Is(err, http.ErrHandlerTimeout) {
		a.unsure = true // http.TimeoutHandler has answered, and drops all that the handler wrote
	}
	return n, err
}

// Unwrap is for http.ResponseController, and for those who look for a layer of their own. A flush and a hijack that it
// finds further down are seen here as well.
func (a *response) Unwrap() http.ResponseWriter {
	below := beneath{a}
	flushes := reaches[flushErrorer](a.inner) || reaches[http.Flusher](a.inner)
	switch hijacks := reaches[http.Hijacker](a.inner); {
	case flushes && hijacks:
		return struct {
			beneath
			errorFlusher
			hijacker
		}{below, errorFlusher{a}, hijacker{a}}
	case flushes:
		return struct {
			beneath
			errorFlusher
		}{below, errorFlusher{a}}
	case hijacks:
		return struct {
			beneath
			hijacker
		}{below, hijacker{a}}
	}
	return below
}

// beneath stands between a response and the writer that it was made for.
type beneath struct{ *response }

func (b beneath) Unwrap() http.ResponseWriter { return b.inner }

// reaches reports whether http.ResponseController finds a T.
func reaches[T any](w http.ResponseWriter) bool {
	for {
		if _, ok := w.(T); ok {
			return true
		}
		outer, ok := w.(unwrapper)
		if !ok {
			return false
		}
		w = outer.Unwrap()
	}
}

// The parts from which combine makes a writer, one for each ability.
type (
	flusher        struct{ a *response }
	errorFlusher   struct{ a *response }
	hijacker       struct{ a *response }
	readerFrom     struct{ a *response }
	pusher         struct{ a *response }
	stringWriter   struct{ a *response }
	closeAnnouncer struct{ a *response }
)

func (f flusher) Flush() {
	f.a.sent(http.StatusOK)
	f.a.inner.(http.Flusher).Flush()
}

func (f errorFlusher) FlushError() error {
	err := http.NewResponseController(f.a.inner).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		f.a.sent(http.StatusOK)
	}
	return err
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.a.hijacked(http.NewResponseController(h.a.inner).Hijack())
}

// ReadFrom sends a status with the first byte that src gives. Where it ends before, in an error or a panic, it may have
// failed to read, and sent nothing, or to write.
func (r readerFrom) ReadFrom(src io.Reader) (n int64, err error) {
	a, copyFrom := r.a, r.a.inner.(io.ReaderFrom).ReadFrom
	if a.status != 0 {
		return copyFrom(src)
	}
	before := a.unsure
	a.unsure = true
	n, err = copyFrom(src)
	if n > 0 {
		a.sent(http.StatusOK)
	}
	a.unsure = n == 0 && (before || err != nil)
	return n, err
}

func (p pusher) Push(target string, opts *http.PushOptions) error {
	return p.a.inner.(http.Pusher).Push(target, opts)
}

func (s stringWriter) WriteString(text string) (int, error) {
	s.a.sent(http.StatusOK)
	return s.a.inner.(io.StringWriter).WriteString(text)
}

func (c closeAnnouncer) CloseNotify() <-chan bool { return c.a.inner.(closeNotifier).CloseNotify() }
