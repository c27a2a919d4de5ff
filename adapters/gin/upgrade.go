package ginlimit

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
)

// upgrade settles when the connection is taken over: the handler of a WebSocket returns only when that has ended.
type upgrade struct {
	gin.ResponseWriter
	outcome *httplimit.Outcome
	settled atomic.Bool // also where the handler returned: layers around it may take over later, when the Outcome is gone
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := u.ResponseWriter.Hijack()
	if err == nil && !u.settled.Swap(true) {
		u.outcome.Settle(http.StatusSwitchingProtocols)
		u.outcome.Release()
	}
	return conn, rw, err
}

// Unwrap is for [http.ResponseController].
func (u *upgrade) Unwrap() http.ResponseWriter { return u.ResponseWriter }
