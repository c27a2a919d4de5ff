package frameworks_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
)

// limitToy is an adapter, whole: Request in, Outcome out.
func limitToy(m *httplimit.Middleware, onDeny func(*exchange, httplimit.Denial) error) toyLayer {
	return func(x *exchange, next toyHandler) error {
		o := m.Check(&toyRequest{x: x})
		status := 500 // unless next returns
		defer func() { o.Settle(status) }()
		for name, value := range o.Fields() {
			x.set(name, value)
		}
		if d, refused := o.Denied(); refused {
			status = d.Status
			return onDeny(x, d)
		}
		x.ctx = o.Context()
		err := next(x)
		switch status = x.status; {
		case err != nil:
			status = toyStatusOf(err)
		case status == 0:
			status = 200
		}
		return err
	}
}

func refuseToy(x *exchange, d httplimit.Denial) error {
	body, err := d.MarshalJSON()
	x.set("Content-Type", "application/problem+json")
	x.status, x.body = d.Status, string(body)
	return err
}

// set adds to the fields that may stand in several lines, and replaces others.
func (x *exchange) set(name, value string) {
	if name != "Ratelimit" && name != "Ratelimit-Policy" {
		x.answered = slices.DeleteFunc(x.answered, func(f toyField) bool { return f.name == name })
	}
	x.answered = append(x.answered, toyField{name, value})
}

// toyRequest is a [httplimit.Request].
type toyRequest struct {
	x    *exchange
	http *http.Request
}

func (r *toyRequest) Context() context.Context { return r.x.ctx }
func (r *toyRequest) Method() string           { return r.x.verb }
func (r *toyRequest) RemoteAddr() string       { return r.x.peer.String() }
func (r *toyRequest) Route() string            { return r.x.pattern }

func (r *toyRequest) Values(name string) []string {
	var values []string
	for _, f := range r.x.asked {
		if strings.EqualFold(f.name, name) {
			values = append(values, f.value)
		}
	}
	return values
}

type exchangeKey struct{}

func (r *toyRequest) HTTP() *http.Request {
	if r.http != nil {
		return r.http
	}
	h := &http.Request{Method: r.x.verb, RequestURI: r.x.target, Proto: r.x.version, Header: http.Header{},
		RemoteAddr: r.RemoteAddr()}
	h.URL, _ = url.ParseRequestURI(r.x.target)
	h.ProtoMajor, h.ProtoMinor, _ = http.ParseHTTPVersion(h.Proto)
	h.ContentLength = int64(r.x.bodyLength())
	for _, f := range r.x.asked {
		h.Header.Add(f.name, f.value)
	}
	h.Host = h.Header.Get("Host")
	h.Header.Del("Host")
	r.http = h.WithContext(context.WithValue(r.x.ctx, exchangeKey{}, r.x))
	return r.http
}

func serveToy(t *testing.T, at net.Listener, a app) {
	router := &toyRouter{around: append([]toyLayer{a.leavingToy}, a.toy(a.around)...), routes: map[string]toyHandler{
		"/items/*": layered(a.toy(a.onRoute), func(x *exchange) error {
			y := a.item(x.ctx, x.rest)
			if y.err != nil && y.status == 0 {
				y.status = a.errors()
			}
			return x.write(y)
		}),
		"/quota": func(x *exchange) error { return x.write(a.quota((&toyRequest{x: x}).HTTP())) },
		"/open":  func(x *exchange) error { return x.write(reply{status: 200, body: "open"}) },
	}}
	served := make(chan struct{})
	go func() { defer close(served); router.serve(at) }()
	t.Cleanup(func() { at.Close(); <-served })
}

func (a app) leavingToy(x *exchange, next toyHandler) (err error) {
	x.ctx = a.enter(a.base())
	defer a.left()
	defer func() {
		if recover() != nil {
			err = toyStatus(500)
		}
	}()
	return next(x)
}

func (a app) toy(ms []*httplimit.Middleware) []toyLayer {
	onDeny := refuseToy
	if a.deny {
		onDeny = func(x *exchange, d httplimit.Denial) error { return x.write(reply{status: d.Status, body: denied(d)}) }
	}
	layers := make([]toyLayer, len(ms))
	for i, m := range ms {
		layers[i] = limitToy(m, onDeny)
	}
	return layers
}

func (x *exchange) write(y reply) error {
	if y.err != nil && y.status != 0 {
		return toyStatus(y.status)
	}
	x.status, x.body = y.status, y.body
	return y.err
}
