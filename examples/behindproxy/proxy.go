package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
)

// newProxy returns a proxy that appends the client's address to X-Forwarded-For and keeps what stands there, as nginx
// does with $proxy_add_x_forwarded_for and as load balancers do.
func newProxy(backend string) http.Handler {
	target := &url.URL{Scheme: "http", Host: backend}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		r.SetXForwarded()
	}}
}
