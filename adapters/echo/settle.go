package echolimit

import (
	"bufio"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/httplimit/httplimit"
	"github.com/labstack/echo/v4"
)

func serveCounted(next echo.HandlerFunc, c echo.Context, o *httplimit.Outcome) (err error) {
	s, answer := &settlement{outcome: o}, c.Response() // layers within may put another in its place, on top of it
	if len(c.Request().Header["Upgrade"]) > 0 {
		answer.Writer = &upgrade{ResponseWriter: answer.Writer, settlement: s}
	}
	returned := false
	defer func() {
		switch sent := written(answer); {
		case !returned:
			s.settle(func() { o.SettleFailed(sent) })
		case sent == 0 && err != nil:
			s.settleWith(answer)
		default:
			s.settle(func() { o.Settle(sent) })
		}
	}()
	err = next(c)
	returned = true
	return err
}

// written returns the status that was written, 0 for none.
func written(answer *echo.Response) int {
	if answer.Committed {
		return answer.Status
	}
	return 0
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

// settleWith settles with the answer to an error, when Echo writes its status. To call the HTTPErrorHandler here
// instead would keep the error from middleware around this one, which may make another of it.
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
