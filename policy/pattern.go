package policy

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// pattern is what a pattern of http.ServeMux asks of a request.
type pattern struct {
	method   string // "" for every one
	host     string // "" for every one
	segments []segment
	subtree  bool // whatever begins with the segments matches
}

// segment is what lies between two slashes: a text, decoded, or any one.
type segment struct {
	text string
	any  bool
}

// parsePattern reads a pattern. It takes nothing that http.ServeMux refuses, and refuses what could only be a mistake.
func parsePattern(text string) (*pattern, error) {
	p := &pattern{}
	rest := text
	if method, behind, found := strings.Cut(text, " "); found {
		if !isMethod(method) {
			return nil, fmt.Errorf("%.32q is no method, want capital letters and one space behind them", method)
		}
		p.method, rest = method, behind
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return nil, errors.New(`it has no path, want "/path", "METHOD /path" or name:NAME`)
	}
	p.host, rest = rest[:slash], rest[slash:]
	if !isHost(p.host) {
		return nil, fmt.Errorf("%.64q is no host; a path begins with a slash", p.host)
	}
	return p, p.parsePath(rest)
}

func isMethod(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' })
}

func isHost(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !isLetterOrDigit(r) && !strings.ContainsRune(".-_:[]", r)
	})
}

// isForeign reports whether a character is not one of a path.
func isForeign(r rune) bool {
	return r <= ' ' || r >= 0x7F && r <= 0x9F || strings.ContainsRune(`?#\`, r)
}

// parsePath reads the segments behind the slashes of a path, which begins with one.
func (p *pattern) parsePath(text string) error {
	if i := strings.IndexFunc(text, isForeign); i >= 0 {
		return fmt.Errorf("%q must not be in a path, want it percent-encoded, and a query left out", text[i])
	}
	if clean := path.Clean(text); clean != text && (clean == "/" || clean+"/" != text) {
		return fmt.Errorf("its path is not clean, want %.64q", clean)
	}
	all := strings.Split(text[1:], "/")
	names := make(map[string]bool)
	for i, one := range all {
		last := i == len(all)-1
		if last && one == "" {
			p.subtree = true
			break
		}
		name, wild, err := wildcard(one)
		switch {
		case err != nil:
			return err
		case !wild:
			p.segments = append(p.segments, segment{text: decode(one, hiddenSlash)})
			continue
		case names[name]:
			return fmt.Errorf("the wildcard {%s} stands there twice, want another name", name)
		}
		names[name] = true
		name, rest := strings.CutSuffix(name, "...")
		switch end := name == "$"; {
		case (rest || end) && !last:
			return fmt.Errorf("%s is not at the end, where it belongs", one)
		case rest:
			p.subtree = true
		case !end:
			p.segments = append(p.segments, segment{any: true})
		}
	}
	return nil
}

// wildcard returns what a segment has in braces: a name, perhaps with dots behind it, or a dollar sign.
func wildcard(one string) (inside string, wild bool, err error) {
	if !strings.ContainsAny(one, "{}") {
		return "", false, nil
	}
	inside, opened := strings.CutPrefix(one, "{")
	inside, closed := strings.CutSuffix(inside, "}")
	name := strings.TrimSuffix(inside, "...")
	if !opened || !closed || inside != "$" && !isIdentifier(name) {
		return "", false, fmt.Errorf("%.64q is no wildcard, want a whole segment as {name}, {name...} or {$}", one)
	}
	return inside, true, nil
}

func isIdentifier(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') &&
		!strings.ContainsFunc(name, func(r rune) bool { return !isLetterOrDigit(r) && r != '_' })
}

// matches reports whether the pattern is one of the request, in any of its readings.
func (p *pattern) matches(r *http.Request) bool {
	return p.matchesMethod(r.Method) && p.matchesHost(r.Host) && (r.URL == nil || p.matchesURL(r.URL))
}

func (p *pattern) matchesMethod(method string) bool {
	switch {
	case p.method == "":
		return true
	case method == "": // as of a request that a client has made
		method = http.MethodGet
	}
	return strings.EqualFold(method, p.method) || p.method == http.MethodGet && strings.EqualFold(method, http.MethodHead)
}

func (p *pattern) matchesHost(host string) bool {
	return p.host == "" || strings.EqualFold(host, p.host) || strings.EqualFold(plainHost(host), plainHost(p.host))
}

// plainHost returns a host without its port and the dot of the root.
func plainHost(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.Contains(host[i:], "]") {
		host = host[:i]
	}
	return strings.TrimSuffix(host, ".")
}
