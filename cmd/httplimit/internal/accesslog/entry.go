package accesslog

import "strings"

// Entry is one request as a line of a log tells it. What the line does not tell is empty.
type Entry struct {
	At     int64 // when, in Unix milliseconds; the beginning of the second where the line has whole seconds
	Whole  bool  // the line tells whole seconds only
	NoZone bool  // the line tells no time zone; At is as if it were UTC

	// Client is who asked: an address without a port, or the name that stands in its place.
	Client string
	// Peer is whom the server had the connection from, where Client is what the server made of Forwarded; else "".
	Peer string
	// Forwarded is the X-Forwarded-For field that the request came with.
	Forwarded string

	Method, Target, Host string // Target is the request target: a path with its query, or an absolute URL
	Status               int    // 0: not told
	Agent, User          string
	Header               []Field // further fields of the request
}

// Field is one line of a request's header.
type Field struct{ Name, Value string }

// Path returns the path of the Target, without its query, its scheme and its host.
func (e *Entry) Path() string {
	path := e.Target
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	if strings.HasPrefix(path, "/") {
		return path
	}
	if _, rest, absolute := strings.Cut(path, "://"); absolute {
		if slash := strings.IndexByte(rest, '/'); slash >= 0 {
			return rest[slash:]
		}
		return "/"
	}
	return path
}

// Size returns about how many bytes e takes.
func (e *Entry) Size() int {
	const itself = 256
	n := itself + len(e.Client) + len(e.Peer) + len(e.Forwarded) + len(e.Method) + len(e.Target) + len(e.Host) +
		len(e.Agent) + len(e.User)
	for i := range e.Header {
		n += len(e.Header[i].Name) + len(e.Header[i].Value)
	}
	return n
}

// Clone returns e with strings of its own, so that it does not keep the whole line in memory.
func (e *Entry) Clone() Entry {
	c := *e
	for _, s := range []*string{&c.Client, &c.Peer, &c.Forwarded, &c.Method, &c.Target, &c.Host, &c.Agent, &c.User} {
		*s = strings.Clone(*s)
	}
	c.Header = nil
	for _, f := range e.Header {
		c.Header = append(c.Header, Field{strings.Clone(f.Name), strings.Clone(f.Value)})
	}
	return c
}

// add notes a field of the request's header under the name in which the Entry has it.
func (e *Entry) add(name, value string) {
	if value == "" || value == "-" {
		return
	}
	switch strings.ToLower(name) {
	case "user-agent":
		e.Agent = value
	case "x-forwarded-for":
		e.Forwarded = value
	case "host":
		e.Host = value
	default:
		e.Header = append(e.Header, Field{name, value})
	}
}

// setRequest takes a request line apart: "GET /path HTTP/1.1". One that is none, "-" or binary, leaves the Entry as it
// is.
func (e *Entry) setRequest(line string) {
	method, rest, ok := strings.Cut(line, " ")
	if !ok || !isToken(method) {
		return
	}
	if end := strings.LastIndex(rest, " "); end >= 0 && strings.HasPrefix(rest[end+1:], "HTTP/") {
		rest = rest[:end]
	}
	e.Method, e.Target = method, rest
}

// setPlainClient sets the client from an address with or without a port and brackets, or from a name.
func (e *Entry) setPlainClient(client string) { e.Client = withoutPort(absent(client)) }

// withoutPort returns the host of "192.0.2.1:80", "[2001:db8::1]:80" and "[2001:db8::1]", and any other text as it is.
func withoutPort(host string) string {
	if strings.HasPrefix(host, "[") {
		if end := strings.IndexByte(host, ']'); end > 0 {
			return host[1:end]
		}
		return host
	}
	if colon := strings.IndexByte(host, ':'); colon >= 0 && strings.IndexByte(host[colon+1:], ':') < 0 {
		return host[:colon]
	}
	return host
}

// absent returns "" for the dash by which logs say that there is nothing.
func absent(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

// isToken reports whether s can be a request method.
func isToken(s string) bool {
	if s == "" || len(s) > 32 || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
