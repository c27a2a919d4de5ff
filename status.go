package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/felixge/httpsnoop"
)

// serveCounted calls next and settles with the status of its answer: at its return, or when it takes the connection
// over.
func (o *Outcome) serveCounted(next http.Handler, w http.ResponseWriter, r *http.Request) {
	status, returned := 0, false
	settle := sync.OnceFunc(func() { o.Settle(status) })
	defer func() {
		status = final(status, returned, r.Context().Err() != nil)
		settle()
	}()
	wrote := func(code int) {
		if status == 0 && (code >= http.StatusOK || code == http.StatusSwitchingProtocols) {
			status = code
		}
	}
	next.ServeHTTP(watch(w, wrote, settle), r)
	returned = true
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

// watch returns a writer like w that tells of the status and of a hijack.
func watch(w http.ResponseWriter, wrote func(code int), hijacked func()) http.ResponseWriter {
	took := func(conn net.Conn, rw *bufio.ReadWriter, err error) (net.Conn, *bufio.ReadWriter, error) {
		if err == nil {
			wrote(http.StatusSwitchingProtocols)
			hijacked()
		}
		return conn, rw, err
	}
	watched := httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(f httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) { wrote(code); f(code) }
		},
		Write: func(f httpsnoop.WriteFunc) httpsnoop.WriteFunc {
			return func(b []byte) (int, error) { wrote(http.StatusOK); return f(b) }
		},
		ReadFrom: func(f httpsnoop.ReadFromFunc) httpsnoop.ReadFromFunc {
			return func(src io.Reader) (int64, error) { wrote(http.StatusOK); return f(src) }
		},
		Flush: func(f httpsnoop.FlushFunc) httpsnoop.FlushFunc {
			return func() { wrote(http.StatusOK); f() }
		},
		Hijack: func(f httpsnoop.HijackFunc) httpsnoop.HijackFunc {
			return func() (net.Conn, *bufio.ReadWriter, error) { return took(f()) }
		},
	})
	if _, direct := w.(http.Hijacker); direct || !hijackable(w) {
		return watched
	}
	// http.ResponseController would look through Unwrap and pass by what stands above.
	below := hijacker{watched, func() (net.Conn, *bufio.ReadWriter, error) { return took(http.NewResponseController(w).Hijack()) }}
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
