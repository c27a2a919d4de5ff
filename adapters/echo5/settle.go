package echo5limit

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v5"
)

func serveCounted(next echo.HandlerFunc, c *echo.Context, o *httplimit.Outcome) (err error) {
	s, answer := &settlement{outcome: o}, response(c) // layers within may put another in its place, on top of it
	if len(c.Request().Header["Upgrade"]) > 0 {
		answer.ResponseWriter = &upgrade{ResponseWriter: answer.ResponseWriter, settlement: s}
	}
	begun := answer.Committed
	answer.Before(func() { begun = true })
	returned := false
	defer func() {
		sent := 0
		if begun {
			sent = answer.Status
		}
		switch {
		case !returned:
			s.settle(func() { o.SettleFailed(sent) })
		case sent == 0 && (err != nil || answer.Committed):
			s.settleWith(answer)
		default:
			s.settle(func() { o.Settle(sent) })
		}
	}()
	err = next(c)
	returned = true
	return err
}

// response returns Echo's own writer of the answer. Where a layer around has put one in its place that does not lead to
// it, there is a new one on top of that.
func response(c *echo.Context) *echo.Response {
	answer, err := echo.UnwrapResponse(c.Response())
	if err != nil {
		answer = echo.NewResponse(c.Response(), c.Logger())
		c.SetResponse(answer)
	}
	return answer
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

// settleWith settles when Echo writes the status: of an answer to an error, or of one to HEAD that a handler for GET
// has made, which Echo keeps until that has returned (AutoHandleHEAD). To call the HTTPErrorHandler here instead would
// keep the error from middleware around this one, which may make another of it.
func (s *settlement) settleWith(answer *echo.Response) {
	answer.Before(func() { s.settle(func() { s.outcome.Settle(answer.Status) }) })
}

// upgrade settles when the connection is taken over: the handler of a WebSocket returns only when that has ended.
type upgrade struct {
	http.ResponseWriter
	settlement *settlement
}

func (u *upgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err == nil {
		u.settlement.settle(func() { u.settlement.outcome.Settle(http.StatusSwitchingProtocols) })
	}
	return conn, rw, err
}

// Unwrap is for [http.ResponseController], which Echo flushes with.
func (u *upgrade) Unwrap() http.ResponseWriter { return u.ResponseWriter }
