package web

import (
	"bufio"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/httplimit/httplimit/benchmarks/workload"
	"github.com/valyala/fasthttp"
)

// serveFast has one context for each goroutine, as a connection of fasthttp has. To make it that of the next client is
// part of what is measured, also around the bare handler.
func serveFast(handler fasthttp.RequestHandler) (func() Session, error) {
	addresses, names := make([]net.Addr, Clients), make([]string, Clients)
	for i := range Clients {
		address, err := netip.ParseAddr(workload.Address(i))
		if err != nil {
			return nil, err
		}
		addresses[i] = net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, 1234))
		names[i] = clientName(i)
	}
	return func() Session {
		ctx := received()
		serve := func(client int) int {
			ctx.SetRemoteAddr(addresses[client])
			ctx.Request.Header.Set(Field, names[client])
			ctx.ResetUserValues() // as fasthttp does behind each request
			ctx.Response.Reset()
			handler(ctx)
			return ctx.Response.StatusCode()
		}
		return Session{serve, func() (http.Header, int) { return fieldsOf(&ctx.Response), len(ctx.Response.Body()) }}
	}, nil
}

func fieldsOf(answer *fasthttp.Response) http.Header {
	fields := make(http.Header)
	for name, value := range answer.Header.All() {
		fields.Add(string(name), string(value))
	}
	return fields
}

// received is a context with a request as fasthttp reads it off a connection: one that is put together of its parts
// looks different, to Fiber and to httplimit.
func received() *fasthttp.RequestCtx {
	ctx := new(fasthttp.RequestCtx)
	ctx.Init(&fasthttp.Request{}, nil, nil)
	head := "GET / HTTP/1.1\r\nHost: example.com\r\n" + Field + ": -\r\n\r\n"
	if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest) // which no benchmark takes for an answer
	}
	return ctx
}
