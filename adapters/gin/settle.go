package ginlimit

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
)

func serveCounted(c *gin.Context, o *httplimit.Outcome) {
	s, errors := &settlement{outcome: o}, len(c.Errors)
	if len(c.Request.Header["Upgrade"]) > 0 {
		c.Writer = &upgrade{ResponseWriter: c.Writer, settlement: s}
	}
	returned := false
	defer func() {
		switch sent := written(c); {
		case !returned:
			s.settle(func() { o.SettleFailed(sent) })
		case sent == 0 && len(c.Errors) > errors:
			c.Writer = &unanswered{ResponseWriter: c.Writer, settlement: s}
		default:
			s.settle(func() { o.Settle(status(c)) })
		}
	}()
	c.Next()
	returned = true
}

// written returns the status that was written, 0 for none.
func written(c *gin.Context) int {
	if c.Writer.Written() {
		return c.Writer.Status()
	}
	return 0
}

// status returns the status of the answer of handlers that have returned, 0 for none. One that was only set is written
// by Gin in the end.
func status(c *gin.Context) int {
	if set := c.Writer.Status(); set != http.StatusOK {
		return set
	}
	return written(c)
}

// settlement settles an Outcome once. Layers around the middleware may write or take the connection over when the
// Outcome is another request's.
type settlement struct {
	outcome *httplimit.Outcome
	done    atomic.Bool
}

func (s *settlement) settle(how func()) {
	if !s.done.Swap(true) {
		how()
		s.outcome.Release()
	}
}

// upgrade settles when the connection is taken over: the handler of a WebSocket returns only when that has ended.
type upgrade struct {
	gin.ResponseWriter
	settlement *settlement
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := u.ResponseWriter.Hijack()
	if err == nil {
		u.settlement.settle(func() { u.settlement.outcome.Settle(http.StatusSwitchingProtocols) })
	}
	return conn, rw, err
}

// Unwrap is for [http.ResponseController].
func (u *upgrade) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// unanswered settles with the answer to the errors of handlers that have returned, when middleware around this one
// writes it. A status that it only sets may change again, and Gin writes it unseen in the end.
type unanswered struct {
	gin.ResponseWriter
	settlement *settlement
}

func (u *unanswered) answer() {
	u.settlement.settle(func() { u.settlement.outcome.Settle(u.Status()) })
}

func (u *unanswered) WriteHeaderNow() {
	u.answer()
	u.ResponseWriter.WriteHeaderNow()
}

func (u *unanswered) Write(b []byte) (int, error) {
	u.answer()
	return u.ResponseWriter.Write(b)
}

func (u *unanswered) WriteString(s string) (int, error) {
	u.answer()
	return u.ResponseWriter.WriteString(s)
}

func (u *unanswered) Flush() {
	u.answer()
	u.ResponseWriter.Flush()
}

// Unwrap is for [http.ResponseController].
func (u *unanswered) Unwrap() http.ResponseWriter { return u.ResponseWriter }
