// Package frameworks_test runs one table of cases through net/http, chi, Gin, Echo (v4 and v5), Fiber (v2 and v3) and a
// toy router, over real sockets: the answers and the calls of the store are the same everywhere. The table exceptions
// lists where a framework differs.
package frameworks_test

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
)

// framework serves apps as its users would write them.
type framework struct {
	name  string
	serve func(t *testing.T, at net.Listener, a app)
	// seesLeaving: the context of a request ends when the client leaves.
	seesLeaving bool
	// streams: there are /events and /ws.
	streams bool
	// http2: net/http's server serves the app.
	http2 bool
	// streamsLate: a stream is written beside the handler, which returns.
	streamsLate bool
}

func frameworks() []framework {
	return []framework{
		{name: "net/http", serve: serveNetHTTP, http2: true, seesLeaving: true, streams: true},
		{name: "chi", serve: serveChi, http2: true, seesLeaving: true, streams: true},
		{name: "Gin", serve: serveGin, http2: true, seesLeaving: true, streams: true},
		{name: "Echo", serve: serveEcho, http2: true, seesLeaving: true, streams: true},
		{name: "Echo 5", serve: serveEcho5, http2: true, seesLeaving: true, streams: true},
		{name: "Fiber", serve: serveFiber, streams: true, streamsLate: true},
		{name: "Fiber 3", serve: serveFiber3, streams: true, streamsLate: true},
		{name: "toy", serve: serveToy},
	}
}

// app is what every framework has to serve, for all methods:
//
//	/items/{id}  by item, below onRoute
//	/open        "open"
//	/quota       by quota
//	/events      the strings that events sends, each flushed at once
//	/ws          a WebSocket that sends back what it gets
//	/download    what is large
//
// Around all of it lie, from the outside in: left, a layer that makes a panic a 500, and the Middlewares.
type app struct {
	around, onRoute []*httplimit.Middleware
	item            handler
	quota           func(r *http.Request) reply
	events          func(ctx context.Context, send func(string))
	deny            bool         // refusals are answered by the framework's own OnDeny, with denied
	errorStatus     int          // what the app's error handler answers to an error without a status; 0: 500
	streamBodies    bool         // handlers run before the body is read, where that is a matter of configuration
	left            func()       // called when a request has gone through
	shutDown        bool         // the context from which those of requests are made has ended
	canceled        bool         // a layer outside has ended the request's context
	download        http.Handler // of /download, which is large, below around
}

// ended returns ctx with an end that it has come to.
func ended(ctx context.Context) context.Context {
	ctx, end := context.WithCancel(ctx)
	end()
	return ctx
}

// base returns the context from which the server makes those of requests.
func (a app) base() context.Context {
	if a.shutDown {
		return ended(context.Background())
	}
	return context.Background()
}

// enter returns what the layer outside all others makes of a request's context.
func (a app) enter(ctx context.Context) context.Context {
	if a.canceled {
		return ended(ctx)
	}
	return ctx
}

// errors is the status of an error that has none of its own.
func (a app) errors() int { return cmp.Or(a.errorStatus, http.StatusInternalServerError) }

// handler answers /items/{id}.
type handler func(ctx context.Context, id string) reply

// reply is what a handler does in the terms of its framework: it writes an answer or, with err, fails. A failure has
// the status if it is not 0.
type reply struct {
	status int // 0 without err: nothing is written
	body   string
	err    error
}

var errHandler = errors.New("no such luck")

// byID does what the id says: "401" writes this status, "fail-403" fails with it, "fail" fails without a status,
// "panic" panics, and all else is a plain answer.
func byID(_ context.Context, id string) reply {
	if failed, ok := strings.CutPrefix(id, "fail"); ok {
		status, _ := strconv.Atoi(strings.TrimPrefix(failed, "-"))
		return reply{status: status, err: errHandler}
	}
	if id == "panic" {
		panic(errHandler)
	}
	if status, err := strconv.Atoi(id); err == nil && status >= 200 {
		return reply{status: status}
	}
	return reply{status: http.StatusOK, body: "item " + id}
}

// denied is the body that OnDeny writes.
func denied(d httplimit.Denial) string {
	names := make([]string, len(d.Rules))
	for i, v := range d.Rules {
		names[i] = v.Rule
	}
	return "slow down: " + strings.Join(names, " ")
}
