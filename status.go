package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/felixge/httpsnoop"
)

// serveCounted calls next and settles with the status of its answer: at its return, or when it takes the connection
// over.
func (o *Outcome) serveCounted(next http.Handler, w http.ResponseWriter, r *http.Request) {
	a := &reply{outcome: o}
	returned := false
	defer func() {
		a.settle(final(a.status, returned, r.Context().Err() != nil))
	}()
	next.ServeHTTP(a.watch(w), r)
	returned = true
}

// reply follows what a handler writes.
type reply struct {
	outcome *Outcome
	status  int // that was written, 0 for none
	settled atomic.Bool
}

// wrote notes a status. 1xx is not the answer yet, but for 101.
func (a *reply) wrote(code int) {
	if a.status == 0 && (code >= http.StatusOK || code == http.StatusSwitchingProtocols) {
		a.status = code
	}
}

func (a *reply) settle(status int) {
	if !a.settled.Swap(true) {
		a.outcome.Settle(status)
	}
}

// took notes that the handler has tried to take the connection over.
func (a *reply) took(conn net.Conn, rw *bufio.ReadWriter, err error) (net.Conn, *bufio.ReadWriter, error) {
	if err == nil {
		a.settle(http.StatusSwitchingProtocols)
	}
	return conn, rw, err
}

// final is the status that a request is settled with, given that which was written (0 for none), whether the handler
// returned or panicked, and whether the client has left. A panic is 500, but an error that the client has read stays
// what it is: it could otherwise undo a failed login by hanging up, which makes a reverse proxy panic.
func final(written int, returned, left bool) int {
	switch {
	case written == 0 && left:
		return statusClientClosed
	case !returned && written < http.StatusBadRequest:
		return http.StatusInternalServerError
	case written == 0:
		return http.StatusOK
	}
	return written
}

// watch returns a writer like w that tells a of the status and of a hijack.
func (a *reply) watch(w http.ResponseWriter) http.ResponseWriter {
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
			return func() (net.Conn, *bufio.ReadWriter, error) { return a.took(f()) }
		},
	})
	if _, direct := w.(http.Hijacker); direct || !hijackable(w) {
		return watched
	}
	// http.ResponseController would look through Unwrap and pass by what stands above.
	below := hijacker{watched, func() (net.Conn, *bufio.ReadWriter, error) { return a.took(http.NewResponseController(w).Hijack()) }}
	if flusher, ok := watched.(http.Flusher); ok {
		return struct {
			hijacker
			http.Flusher
		}{below, flusher}
	}
	return below
}

// hijackable tells whether http.ResponseController finds a way to take the connection over.
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
