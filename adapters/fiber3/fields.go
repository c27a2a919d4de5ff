package fiber3limit

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v3"
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

// cookies returns the lines of the Cookie field: one, with the cookies that Fiber's c.Cookies finds, in a form of which
// net/http reads the same. As they were sent, the two read some of them differently (spaces and quotes around values,
// tabs around names, cookies without a name), and a client would be counted for another session than the one it has.
func cookies(header *fasthttp.RequestHeader) []string {
	var line []byte
	for name, value := range header.Cookies() {
		if len(name) == 0 || len(bytes.TrimSpace(name)) < len(name) {
			continue
		}
		if len(line) > 0 {
			line = append(line, "; "...)
		}
		line = append(append(append(line, name...), '='), value...)
	}
	if line == nil {
		return nil
	}
	return []string{string(line)}
}

// fasthttp appends trailers to the fields of the head, asked for or not: where a field is not in the head, Fiber's
// c.Get reads the trailer, so that a credential may stand there. But an X-Forwarded-For among them would stand to the
// right of what the proxies wrote, where it is believed.

// allLines returns the lines of a field, those of trailers before those of the head.
func allLines(header *fasthttp.RequestHeader, name string) []string {
	name = http.CanonicalHeaderKey(name)
	var lines []string
	for field, line := range header.All() {
		if http.CanonicalHeaderKey(string(field)) == name {
			lines = append(lines, string(line))
		}
	}
	if head, may := linesInHead(header); may && len(lines) > head[name] {
		return slices.Concat(lines[head[name]:], lines[:head[name]])
	}
	return lines
}

// linesInHead returns how many lines each field has in the head. ok is false where there are no trailers, so that it
// does not matter.
func linesInHead(header *fasthttp.RequestHeader) (lines map[string]int, ok bool) {
	if !mayHaveTrailers(header) {
		return nil, false
	}
	lines = make(map[string]int)
	for name := range header.AllInOrder() {
		lines[http.CanonicalHeaderKey(string(name))]++
	}
	return lines, lines["Transfer-Encoding"] > 0
}

// fields returns a copy of the fields of the head, as net/http has them: names in canonical form, and Host left out.
func fields(header *fasthttp.RequestHeader) http.Header {
	all := make(http.Header)
	for name, line := range header.All() {
		all.Add(string(name), string(line))
	}
	all.Del("Host")
	if head, may := linesInHead(header); may {
		for name, lines := range all {
			if len(lines) > head[name] {
				all[name] = lines[:head[name]]
			}
		}
	}
	all.Del(fiber.HeaderCookie)
	if lines := cookies(header); lines != nil {
		all[fiber.HeaderCookie] = lines
	}
	return all
}
