package fiberlimit

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// plain reports whether fasthttp's header can be asked for a field by its name. It cannot where fields keep the
// spelling that they came in, which a client can choose to differ from its proxy's, nor where there may be trailers.
func plain(header *fasthttp.RequestHeader, spelled bool) bool {
	return !spelled && !mayHaveTrailers(header)
}

// mayHaveTrailers reports whether the body may have been chunked. fasthttp's length is then -1, or 0 if it was empty,
// as it is for every GET; and of an empty body the field that said so is left in the raw head only.
func mayHaveTrailers(header *fasthttp.RequestHeader) bool {
	length := header.ContentLength()
	return length == -1 || length == 0 && hasLine(header.RawHeaders(), fiber.HeaderTransferEncoding)
}

// hasLine reports whether a line of the head begins with that name, in any case.
func hasLine(head []byte, name string) bool {
	for len(head) >= len(name) {
		if strings.EqualFold(string(head[:len(name)]), name) {
			return true
		}
		end := bytes.IndexByte(head, '\n')
		if end < 0 {
			return false
		}
		head = head[end+1:]
	}
	return false
}

// fields returns a copy of the fields, as net/http has them: names in canonical form, Host left out, and trailers too.
//
// fasthttp appends trailers to the fields of the head, asked for or not. An X-Forwarded-For among them would stand to
// the right of what the proxies wrote, where it is believed. So a field of a chunked request has no more lines than
// it had in the head.
func fields(header *fasthttp.RequestHeader) http.Header {
	all := make(http.Header)
	header.VisitAll(func(name, line []byte) { all.Add(string(name), string(line)) })
	all.Del("Host")
	if !mayHaveTrailers(header) {
		return all
	}
	head := make(map[string]int)
	header.VisitAllInOrder(func(name, _ []byte) { head[http.CanonicalHeaderKey(string(name))]++ })
	if head["Transfer-Encoding"] == 0 {
		return all
	}
	for name, lines := range all {
		if len(lines) > head[name] {
			all[name] = lines[:head[name]]
		}
	}
	return all
}
