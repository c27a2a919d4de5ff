package httplimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// call is a request of a toy framework that knows nothing of net/http.
type call struct {
	ctx    context.Context
	from   string
	fields map[string][]string
}

func (c call) Context() context.Context      { return c.ctx }
func (c call) Method() string                { return "CALL" }
func (c call) RemoteAddr() string            { return c.from }
func (c call) Values(header string) []string { return c.fields[header] }
func (c call) Route() string                 { return "" }

// HTTP is needed only by functions that a team writes into its rules.
func (c call) HTTP() *http.Request {
	r := &http.Request{Method: c.Method(), RemoteAddr: c.from, Header: c.fields}
	return r.WithContext(c.ctx)
}

// An adapter for any framework: decide, set the fields, refuse or call the handler, and settle in any case.
func ExampleMiddleware_Check() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "calls", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	serve := func(c call) (status int) {
		o := m.Check(c)
		status = http.StatusInternalServerError // if the handler panics
		defer func() { o.Settle(status) }()
		for name, value := range o.Fields() {
			if name == "Ratelimit-Policy" {
				fmt.Println(name, value)
			}
		}
		if d, denied := o.Denied(); denied {
			status = d.Status
			return status
		}
		status = http.StatusOK // which the handler, called with o.Context(), answers here
		return status
	}
	fmt.Println(serve(call{ctx: context.Background(), from: "192.0.2.1:1234"}))
	fmt.Println(serve(call{ctx: context.Background(), from: "192.0.2.1:5678"}))
	// Output:
	// Ratelimit-Policy "calls";q=1;w=86400
	// 200
	// Ratelimit-Policy "calls";q=1;w=86400
	// 429
}

// The decision on a request of net/http, where something else than Middleware.Handler is to write the answer.
func ExampleHTTPRequest() {
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.PerDay(1)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		o := m.Check(httplimit.HTTPRequest(httptest.NewRequest(http.MethodGet, "/", nil)))
		d, denied := o.Denied()
		fmt.Println(denied, d.Status)
		o.Settle(http.StatusOK)
	}
	// Output:
	// false 0
	// true 429
}
