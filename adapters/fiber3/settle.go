package fiber3limit

import (
	"github.com/gofiber/fiber/v3"
	"github.com/httplimit/httplimit"
	"github.com/valyala/fasthttp"
)

// serveCounted answers the error of the handlers itself: what it becomes is not known before the ErrorHandler has run,
// and Fiber would have it answer a second time what is returned. To settle later, when fasthttp is done with the
// request, would give units back after the client has the answer.
func serveCounted(c fiber.Ctx, o *httplimit.Outcome) error {
	ctx, returned := c.RequestCtx(), false
	defer func() {
		if !returned {
			o.SettleFailed(0) // fasthttp sends nothing before a handler returns
		}
		o.Release()
	}()
	err := c.Next()
	returned = true
	if late := timedOut(c, ctx); late != nil {
		o.Settle(late.StatusCode())
		return err
	}
	if err != nil {
		returned = false // an ErrorHandler may panic
		answer(c, err)
		returned = true
	}
	o.Settle(status(ctx, err != nil))
	return nil
}

// timedOut returns the answer of Fiber's timeout middleware, around this or within, if it has sent one: the handler may
// run on, and write into the other answer. The order matters: that it has given c up is told from one goroutine to the
// other, and what it did before may be read then.
func timedOut(c fiber.Ctx, ctx *fasthttp.RequestCtx) *fasthttp.Response {
	if !c.IsAbandoned() {
		return nil
	}
	return ctx.LastTimeoutErrorResponse()
}

// answer does with an error what Fiber does in the end.
func answer(c fiber.Ctx, err error) {
	if c.App().ErrorHandler(c, err) != nil {
		_ = c.SendStatus(fiber.StatusInternalServerError)
	}
}

// status returns the status of the answer of handlers that have returned, 0 for none.
func status(ctx *fasthttp.RequestCtx, answered bool) int {
	switch {
	case ctx.Hijacked():
		return fiber.StatusSwitchingProtocols
	case answered || written(&ctx.Response):
		return ctx.Response.StatusCode()
	}
	return 0
}

// written reports whether a handler has begun an answer. Body would read a stream to its end.
func written(answer *fasthttp.Response) bool {
	return answer.StatusCode() != fiber.StatusOK || answer.IsBodyStream() || len(answer.Body()) > 0
}
