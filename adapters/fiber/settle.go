package fiberlimit

import (
	"github.com/gofiber/fiber/v2"
	"github.com/httplimit/httplimit"
	"github.com/valyala/fasthttp"
)

func serveCounted(c *fiber.Ctx, o *httplimit.Outcome) (err error) {
	returned := false
	defer func() {
		switch {
		case !returned:
			o.SettleFailed(0) // fasthttp sends nothing before a handler returns
		case err != nil:
			settleWithAnswer(c.Context(), o)
			return
		default:
			o.Settle(status(c.Context()))
		}
		o.Release()
	}()
	err = c.Next()
	returned = true
	return err
}

// status returns the status of the answer of handlers that have returned, 0 for none.
func status(ctx *fasthttp.RequestCtx) int {
	switch {
	case ctx.Hijacked():
		return fiber.StatusSwitchingProtocols
	case written(&ctx.Response):
		return ctx.Response.StatusCode()
	}
	return 0
}

// written reports whether a handler has begun an answer. Body would read a stream to its end.
func written(answer *fasthttp.Response) bool {
	return answer.StatusCode() != fiber.StatusOK || answer.IsBodyStream() || len(answer.Body()) > 0
}

// settleWithAnswer settles with the answer to an error. To call the ErrorHandler here instead would either hide the
// error from middleware around this one, or have it answered twice.
func settleWithAnswer(ctx *fasthttp.RequestCtx, o *httplimit.Outcome) {
	o.HandlerFailed()
	end := &requestEnd{ctx, o}
	ctx.SetUserValue(end, end)
}

// requestEnd is a user value of a request, which fasthttp closes when the answer has been sent and is still there.
type requestEnd struct {
	ctx     *fasthttp.RequestCtx
	outcome *httplimit.Outcome
}

func (e *requestEnd) Close() error {
	e.outcome.Settle(e.ctx.Response.StatusCode())
	e.outcome.Release()
	return nil
}
