package httplimit

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"
)

// serveCounted calls next and settles with the status of its answer: when next returns, or takes the connection over.
func (o *Outcome) serveCounted(next http.Handler, w http.ResponseWriter, r *http.Request) {
	a := &response{inner: w, outcome: o}
	returned := false
	defer func() {
		if !a.claim() {
			return
		}
		switch {
		case a.unsure: // the request counts
		case returned:
			o.Settle(a.status)
		default:
			o.SettleFailed(a.status)
		}
		o.Release()
	}()
	next.ServeHTTP(a.writer(), r)
	returned = true
}

// response follows what a handler writes.
type response struct {
	inner   http.ResponseWriter
	outcome *Outcome
	status  int  // that was sent, 0 for none
	unsure  bool // it is not known whether anything was sent
	settled atomic.Bool
}

// claim reports whether the caller is the first one, which settles and releases the Outcome. Nobody else may touch it:
// a connection can be taken over when the handler has returned, and the Outcome may be another request's by then.
func (a *response) claim() bool { return !a.settled.Swap(true) }

// sent notes a status.
func (a *response) sent(code int) {
	if a.status == 0 {
		a.status = final(code)
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
