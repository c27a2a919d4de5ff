package frameworks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/httplimit/httplimit"
	echolimit "github.com/httplimit/httplimit/adapters/echo"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	fiberlimit "github.com/httplimit/httplimit/adapters/fiber"
	fiber3limit "github.com/httplimit/httplimit/adapters/fiber3"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
	"github.com/httplimit/httplimit/limiter"
)

// applying is about the requests to which a rule applies, and the parts of them that identify clients.
func applying() []scenario {
	return []scenario{{
		name:   "preflight",
		around: limits(byIP("ip", limiter.PerHour(5))),
		script: `
			OPTIONS /items/7
			> Origin: https://app.example
			> Access-Control-Request-Method: POST
			take /ip %P:127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=5;w=3600
			RateLimit: "ip";r=4;t=3601

			OPTIONS /items/7
			> Origin: https://app.example
			take /ip 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "ip";q=5;w=3600
			RateLimit: "ip";r=4;t=3601`,
	}, {
		name: "skipped",
		around: limits(
			httplimit.Rule{Name: "writes", Key: httplimit.ClientIP(), Limit: limiter.PerHour(5),
				When: func(r *http.Request) bool { return r.Method == http.MethodPost }},
			httplimit.Rule{Name: "guests", Limit: limiter.PerHour(5), Key: httplimit.KeyFunc(guest)}),
		script: `
			GET /items/7
			> X-User: ada
			200 item 7

			GET /items/7
			take /guests guest 1
			200 item 7
			RateLimit-Policy: "guests";q=5;w=3600
			RateLimit: "guests";r=4;t=3601

			POST /items/7
			> X-User: ada
			take /writes 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "writes";q=5;w=3600
			RateLimit: "writes";r=4;t=3601

			POST /items/7
			take /writes 127.0.0.1 1, take /guests guest 1
			200 item 7
			RateLimit-Policy: "writes";q=5;w=3600, "guests";q=5;w=3600
			RateLimit: "writes";r=3;t=5401, "guests";r=3;t=5401`,
	}, {
		name: "no key",
		around: limits(
			httplimit.Rule{Name: "peer", Key: httplimit.Header("X-Account"), Limit: limiter.PerHour(1)},
			httplimit.Rule{Name: "all", Key: httplimit.Header("X-Account"), NoKey: httplimit.Everyone(),
				Limit: limiter.PerHour(1)}),
		script: `
			GET /items/7
			take /peer %N:127.0.0.1 1, take /all %N: 1
			200 item 7
			RateLimit-Policy: "peer";q=1;w=3600, "all";q=1;w=3600
			RateLimit: "peer";r=0;t=3601, "all";r=0;t=3601

			GET /items/7
			take /peer %N:127.0.0.1 1, take /all %N: 1 -> refused
			429 quota-exceeded [peer all]
			RateLimit-Policy: "peer";q=1;w=3600, "all";q=1;w=3600
			RateLimit: "peer";r=0;t=3601, "all";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store

			GET /items/7
			> X-Account: ada
			take /peer ada 1, take /all ada 1
			200 item 7
			RateLimit-Policy: "peer";q=1;w=3600, "all";q=1;w=3600
			RateLimit: "peer";r=0;t=3601, "all";r=0;t=3601`,
	}, {
		name:    "on one route",
		onRoute: limits(byIP("items", limiter.PerHour(1))),
		script: `
			GET /open
			200 open

			GET /items/7
			take /items 127.0.0.1 1
			200 item 7
			RateLimit-Policy: "items";q=1;w=3600
			RateLimit: "items";r=0;t=3601

			GET /items/8
			take /items 127.0.0.1 1 -> refused
			429 quota-exceeded [items]
			RateLimit-Policy: "items";q=1;w=3600
			RateLimit: "items";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store

			GET /open
			200 open`,
	}, {
		name:    "route as a key",
		onRoute: limits(httplimit.Rule{Name: "route", Key: httplimit.Route(), Limit: limiter.PerHour(2)}),
		script: `
			GET /items/7
			take /route /items/%7Bid%7D 1
			200 item 7
			RateLimit-Policy: "route";q=2;w=3600
			RateLimit: "route";r=1;t=3601

			POST /items/8?page=2
			take /route /items/%7Bid%7D 1
			200 item 8
			RateLimit-Policy: "route";q=2;w=3600
			RateLimit: "route";r=0;t=5401

			GET /items/7
			take /route /items/%7Bid%7D 1 -> refused
			429 quota-exceeded [route]
			RateLimit-Policy: "route";q=2;w=3600
			RateLimit: "route";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name:    "what the framework knows as a key",
		onRoute: limits(httplimit.Rule{Name: "item", Key: httplimit.KeyFunc(item), Limit: limiter.PerHour(1)}),
		script: `
			GET /items/seven
			take /item seven 1
			200 item seven
			RateLimit-Policy: "item";q=1;w=3600
			RateLimit: "item";r=0;t=3601

			GET /items/eight
			take /item eight 1
			200 item eight
			RateLimit-Policy: "item";q=1;w=3600
			RateLimit: "item";r=0;t=3601

			GET /items/seven
			take /item seven 1 -> refused
			429 quota-exceeded [item]
			RateLimit-Policy: "item";q=1;w=3600
			RateLimit: "item";r=0;t=3601
			Retry-After: 3601
			Cache-Control: no-store`,
	}, {
		name: "what a function sees",
		around: []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{
			{Name: "target", Key: httplimit.KeyFunc(target), Limit: limiter.PerHour(9)},
			{Name: "header", Key: httplimit.KeyFunc(header), Limit: limiter.PerHour(9)},
		}}},
		script: `
			GET /open?q=1&q=%2B
			take /target GET%20api.example%20/open%20q%3D1%26q%3D%252B%20/open%3Fq%3D1%26q%3D%252B%20HTTP/1.1%200 1, take /header %N:127.0.0.1 1
			200 open

			GET /none/a%2Fb%20c;d=e
			take /target GET%20api.example%20/none/a/b%20c%3Bd%3De%20%20/none/a%252Fb%2520c%3Bd%3De%20HTTP/1.1%200 1, take /header %N:127.0.0.1 1
			404

			GET /open
			> X-Tag: b
			> X-Tag: a
			> x-tag: c
			> Cookie: a=1
			> Cookie: b=2
			take /target GET%20api.example%20/open%20%20/open%20HTTP/1.1%200 1, take /header Cookie%3Da%3D1%2Cb%3D2%20X-Tag%3Db%2Ca%2Cc 1
			200 open

			PUT /open?
			take /target PUT%20api.example%20/open%20%20/open%3F%20HTTP/1.1%200 1, take /header Content-Length%3D0 1
			200 open`,
	}}
}

// guest counts those who have not said who they are.
func guest(r *http.Request) (string, error) {
	if r.Header.Get("X-User") != "" {
		return "", httplimit.ErrSkip
	}
	return "guest", nil
}

// item returns the id of /items/{id} whatever framework has routed the request.
func item(r *http.Request) (string, error) {
	if c, ok := ginlimit.From(r); ok {
		return c.Param("id"), nil
	}
	if c, ok := echolimit.From(r); ok {
		return c.Param("id"), nil
	}
	if c, ok := echo5limit.From(r); ok {
		return c.Param("id"), nil
	}
	if c, ok := fiberlimit.From(r); ok {
		return c.Params("id"), nil
	}
	if c, ok := fiber3limit.From(r); ok {
		return c.Params("id"), nil
	}
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		return x.rest, nil
	}
	if id := r.PathValue("id"); id != "" {
		return id, nil
	}
	return chi.URLParam(r, "id"), nil
}

func target(r *http.Request) (string, error) {
	return fmt.Sprint(r.Method, " ", r.Host, " ", r.URL.Path, " ", r.URL.RawQuery, " ", r.RequestURI, " ", r.Proto, " ",
		r.ContentLength), nil
}

func header(r *http.Request) (string, error) {
	var lines []string
	for name, values := range r.Header {
		if name != "User-Agent" {
			lines = append(lines, name+"="+strings.Join(values, ","))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " "), nil
}
