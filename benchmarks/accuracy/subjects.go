package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-chi/httprate"
	"github.com/gofiber/fiber/v2"
	fibermiddleware "github.com/gofiber/fiber/v2/middleware/limiter"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/valyala/fasthttp"
)

// decide decides a request of a client that comes now.
type decide func(client string) (allowed bool)

// subject is a limiter whose decisions are looked at.
type subject struct {
	name string
	// outside makes what has goroutines of its own, which must not run on a clock that is moved.
	outside func(limit int, window time.Duration) (inside func() decide)
}

// moved are the limiters whose time is moved.
func moved() []subject {
	return []subject{
		{"FixedWindow", own(limiter.FixedWindow)},
		{"SlidingWindow", own(limiter.SlidingWindow)},
		{"StrictWindow", own(limiter.StrictWindow)},
		{"TokenBucket", own(limiter.TokenBucket)},
		{"SlidingLog", own(limiter.SlidingLog)},
		{"httprate, sliding", httprateSliding},
		{"Fiber, sliding", fiberSliding},
	}
}

// own is memstore, the store that decides in production.
func own(algorithm limiter.Algorithm) func(int, time.Duration) func() decide {
	return func(limit int, window time.Duration) func() decide {
		return func() decide {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				panic(err)
			}
			l := limiter.Limit{Requests: int64(limit), Window: window, Algorithm: algorithm}
			return func(client string) bool {
				taken, err := store.Take(context.Background(), []limiter.Charge{{Key: client, Limit: l, Cost: 1}})
				if err != nil {
					panic(err)
				}
				return taken
			}
		}
	}
}

func httprateSliding(limit int, window time.Duration) func() decide {
	return func() decide {
		l := httprate.NewRateLimiter(limit, window, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		return func(client string) bool { return !l.OnLimit(w, r, client) }
	}
}

// fiberLater is so far after the moved clock's that Fiber's own goroutines, which see the real time, find nothing that
// has expired.
const fiberLater = 100 * 365 * 24 * time.Hour

// fiberSliding reads a global variable of whole seconds, which is set here before each decision. Fiber sets it to the
// real time once a second, but between two statements of this function only by a rare chance, and then it is asked
// again.
func fiberSliding(limit int, window time.Duration) func() decide {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(fibermiddleware.New(fibermiddleware.Config{
		Max: limit, Expiration: window, LimiterMiddleware: fibermiddleware.SlidingWindow{},
		KeyGenerator: func(c *fiber.Ctx) string { return string(c.Context().Path()) },
	}))
	app.Use(func(c *fiber.Ctx) error { return c.SendStatus(fiber.StatusOK) })
	handler := app.Handler()
	var key atomic.Int64
	return func() decide {
		names := map[string]string{}
		return func(client string) bool {
			if names[client] == "" {
				names[client] = "/" + strconv.FormatInt(key.Add(1), 10)
			}
			var ctx fasthttp.RequestCtx
			ctx.Request.SetRequestURI(names[client])
			atomic.StoreUint32(&utils.Timestamp, uint32(time.Now().Add(fiberLater).Unix()))
			handler(&ctx)
			return ctx.Response.StatusCode() == fiber.StatusOK
		}
	}
}

// goLimiterFixed reads the machine's clock past package time, so that it can only be slept for.
func goLimiterFixed(limit int, window time.Duration) (take decide, end func()) {
	store, err := memorystore.New(&memorystore.Config{Tokens: uint64(limit), Interval: window})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	return func(client string) bool {
		_, _, _, ok, err := store.Take(ctx, client)
		if err != nil {
			panic(err)
		}
		return ok
	}, func() { _ = store.Close(ctx) }
}
