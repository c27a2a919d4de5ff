package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// serveCounted calls next and settles with the status of its answer: when next returns, or takes the connection over.
func (o *Outcome) serveCounted(next http.Handler, w http.ResponseWriter, r *http.Request) {
	a := &response{outcome: o}
	returned := false
	defer func() {
		if !a.claim() {
			return
		}
		if returned {
			o.Settle(a.status)
		} else {
			o.SettleFailed(a.status)
		}
		o.Release()
	}()
	next.ServeHTTP(a.watch(w), r)
	returned = true
}

// response follows what a handler writes.
type response struct {
	outcome *Outcome
	status  int // that was written, 0 for none
	settled atomic.Bool
}

// claim reports whether the caller is the first one, which settles and releases the Outcome. Nobody else may touch it:
// a connection can be taken over when the handler has returned, and the Outcome may be another request's by then.
func (a *response) claim() bool { return !a.settled.Swap(true) }

// wrote notes a status. 1xx is not the answer yet, but for 101.
func (a *response) wrote(code int) {
	if a.status == 0 && (code >= http.StatusOK || code == http.StatusSwitchingProtocols) {
		a.status = code
	}
}

// hijacked settles if the handler has taken the connection over.
func (a *response) hijacked(conn net.Conn, rw *bufio.ReadWriter, err error) (net.Conn, *bufio.ReadWriter, error) {
	if err == nil && a.claim() {
		a.outcome.Settle(http.StatusSwitchingProtocols)
		a.outcome.Release()
	}
	return conn, rw, err
}

// watch returns a writer like w that reports the status and a hijack to a.
func (a *response) watch(w http.ResponseWriter) http.ResponseWriter {
	watched := httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(f httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) { a.wrote(code); f(code) }
		},
		Write: func(f httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) { a.wrote(http.StatusOK); return f(b) }
		},
		ReadFrom: func(f httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { a.wrote(http.StatusOK); return f(src) }
		},
		Flush: func(f httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() { a.wrote(http.StatusOK); f() }
		},
		Hijack: func(f httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) { return a.hijacked(f()) }
		},
	})
	if _, direct := w.(http.Hijacker); direct || !hijackable(w) {
		return watched
	}
	// http.ResponseController would find the hijack behind Unwrap and bypass a.
	below := hijacker{watched, func() (net.Conn, *bufio.ReadWriter, error) {
		return a.hijacked(http.NewResponseController(w).Hijack())
	}}
	if flusher, ok := watched.(http.Flusher); ok {
		return struct {
			hijacker
			http.Flusher
		}{below, flusher}
	}
	return below
}

// hijackable reports whether http.ResponseController finds a way to take the connection over.
func hijackable(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = outer.Unwrap()
	}
}

// hijacker is a writer whose connection can be taken over.
type hijacker struct {
	http.ResponseWriter
	hijack func() (net.Conn, *bufio.ReadWriter, error)
}

func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.hijack() }

// Unwrap is for http.ResponseController.
func (h hijacker) Unwrap() http.ResponseWriter { return h.ResponseWriter }
