package policy

import (
	"net/url"
	"path"
	"strings"
)

// hiddenSlash stands for an encoded slash where it parts no segments: routers disagree about it.
const hiddenSlash = '\x00'

// matchesURL reports whether a reading of the path matches: a router behind the limiter may take it for any of them.
func (p *pattern) matchesURL(u *url.URL) bool {
	if p.matchesReading(u.Path) || u.RawPath != "" && p.matchesRaw(u.RawPath) {
		return true
	}
	// Somebody on the way may decode what is decoded already.
	for text, i := u.Path, 0; i < mostDecodings && strings.Contains(text, "%"); i++ {
		if p.matchesReading(decode(text, hiddenSlash)) {
			return true
		}
		if text = decode(text, '/'); p.matchesReading(text) {
			return true
		}
	}
	return false
}

// matchesRaw reports whether a path as it came matches, also where a router forgives dot segments before it decodes.
func (p *pattern) matchesRaw(raw string) bool {
	if p.matchesReading(decode(raw, hiddenSlash)) {
		return true
	}
	return strings.Contains(raw, "/.") && p.matchesPath(decode(path.Clean("/"+raw), hiddenSlash))
}

// mostDecodings is more than any chain of proxies and routers is known to do.
const mostDecodings = 3

// matchesReading reports whether a path matches as it is, or as a router takes it that forgives dot segments,
// backslashes, or parameters.
func (p *pattern) matchesReading(text string) bool {
	if p.matchesPath(text) || strings.Contains(text, "/.") && p.matchesPath(path.Clean("/"+text)) {
		return true
	}
	if !strings.ContainsAny(text, `\;`) {
		return false
	}
	text = withoutParameters(strings.ReplaceAll(text, `\`, "/"))
	return p.matchesPath(text) || strings.Contains(text, "/.") && p.matchesPath(path.Clean("/"+text))
}

// withoutParameters cuts each segment at its semicolon (RFC 3986, section 3.3).
func withoutParameters(text string) string {
	segments := strings.Split(text, "/")
	for i, one := range segments {
		segments[i], _, _ = strings.Cut(one, ";")
	}
	return strings.Join(segments, "/")
}

// matchesPath reports whether the segments of a path are those of the pattern. Case and empty segments make no
// difference; where a router takes an empty segment for one, it matches too.
func (p *pattern) matchesPath(text string) bool {
	return p.walk(text, false) || strings.Contains(text, "//") && p.walk(text, true)
}

// walk compares segment by segment. empty says that an empty one counts.
func (p *pattern) walk(text string, empty bool) bool {
	text = strings.TrimPrefix(text, "/")
	for _, want := range p.segments {
		for !empty && strings.HasPrefix(text, "/") {
			text = text[1:]
		}
		if text == "" {
			return false
		}
		var got string
		got, text, _ = strings.Cut(text, "/")
		if !want.any && !strings.EqualFold(got, want.text) {
			return false
		}
	}
	return p.subtree || strings.Trim(text, "/") == ""
}

// decode replaces percent-encoded bytes, once, and an encoded slash by that byte. What is no encoding stays.
func decode(text string, slash byte) string {
	if !strings.Contains(text, "%") {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			high, low := unhex(text[i+1]), unhex(text[i+2])
			if high >= 0 && low >= 0 {
				c = byte(high<<4 | low)
				if c == '/' {
					c = slash
				}
				i += 2
			}
		}
		b = append(b, c)
	}
	return string(b)
}

// unhex returns the value of a hexadecimal digit, -1 if it is none.
func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
