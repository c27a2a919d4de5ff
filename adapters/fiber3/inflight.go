package fiber3limit

import (
	"io"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"
)

// leaveAfter gives the places of rules with InFlight back now, when the handler has returned, or panicked, or when
// fasthttp has sent the stream that the handler has left. It is to be deferred.
func leaveAfter(c fiber.Ctx, ctx *fasthttp.RequestCtx, leave func()) {
	if timedOut(c, ctx) != nil || !ctx.Response.IsBodyStream() || ctx.Hijacked() {
		leave()
		return
	}
	end := &streamEnd{leave}
	ctx.SetUserValue(end, io.Closer(end)) // fasthttp closes values when it is done with the request
}

// streamEnd gives places back once it is closed.
type streamEnd struct{ leave func() }

// Close implements [io.Closer].
func (e *streamEnd) Close() error {
	e.leave()
	return nil
}
