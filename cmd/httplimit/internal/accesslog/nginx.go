package accesslog

import (
	"errors"
	"fmt"
	"strings"
)

var errNginx = errors.New("it does not match the log_format")

// nginx reads what a log_format describes.
type nginx struct {
	parts []nginxPart
}

// nginxPart is a variable and the text that follows it. The first part has no variable.
type nginxPart struct {
	variable string // "" for none, or one of no interest
	part     part
	until    string
}

// newNginx reads a log_format: the text of its format, or the whole directive, quotes and all.
func newNginx(format string) (*nginx, error) {
	format, err := bareFormat(format)
	if err != nil {
		return nil, err
	}
	f := &nginx{}
	var current nginxPart
	for rest := format; ; {
		dollar := strings.IndexByte(rest, '$')
		if dollar < 0 {
			current.until = rest
			f.parts = append(f.parts, current)
			break
		}
		current.until = rest[:dollar]
		name, behind := variable(rest[dollar+1:])
		if name == "" {
			return nil, fmt.Errorf("no name follows the $ before %q", behind)
		}
		if len(f.parts) > 0 && current.until == "" {
			return nil, fmt.Errorf("nothing stands between $%s and $%s, so nobody can tell where one ends", current.variable,
				name)
		}
		f.parts = append(f.parts, current)
		current, rest = nginxPart{variable: name, part: nginxVariable(name)}, behind
	}
	return f, f.suffice()
}

// bareFormat takes the quotes, and the name before them, off a directive that was copied as it stands.
func bareFormat(s string) (string, error) {
	s = strings.TrimSpace(s)
	directive := strings.HasPrefix(s, "log_format")
	quote := strings.IndexAny(s, `'"`)
	if !directive && quote != 0 {
		return s, nil
	}
	if !directive && strings.Count(s, s[:1]) == 2 && strings.HasSuffix(s, s[:1]) {
		return s[1 : len(s)-1], nil
	}
	if !directive && s[0] == '"' {
		return s, nil // a format that begins with a quote of its own
	}
	var b strings.Builder
	for quote >= 0 {
		mark := s[quote : quote+1]
		value, rest, ok := strings.Cut(s[quote+1:], mark)
		if !ok {
			return "", errors.New("a quote of the log_format does not end")
		}
		b.WriteString(value)
		s = rest
		quote = strings.IndexAny(s, `'"`)
	}
	return b.String(), nil
}

// variable takes a name, in braces or not, from the beginning of s.
func variable(s string) (name, rest string) {
	if inside, ok := strings.CutPrefix(s, "{"); ok {
		name, rest, _ = strings.Cut(inside, "}")
		return name, rest
	}
	end := 0
	for end < len(s) && (s[end] == '_' || s[end] >= '0' && s[end] <= '9' || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z') {
		end++
	}
	return s[:end], s[end:]
}

// nginxVariable returns what a variable tells; "" if nothing of interest.
func nginxVariable(name string) part {
	switch name {
	case "time_local", "time_iso8601", "msec":
		return partTime
	case "remote_addr":
		return partClient
	case "proxy_add_x_forwarded_for":
		return partForwarded
	case "request_method":
		return partMethod
	case "request_uri", "uri", "document_uri":
		return partPath
	case "args", "query_string":
		return partQuery
	case "host", "server_name", "http_host":
		return partHost
	case "realip_remote_addr":
		return partPeer
	case "request", "status", "remote_user":
		return known[name]
	}
	if field, ok := strings.CutPrefix(name, "http_"); ok {
		if p, ok := known[name]; ok {
			return p
		}
		return part(headerPart + strings.ReplaceAll(field, "_", "-"))
	}
	if cookie, ok := strings.CutPrefix(name, "cookie_"); ok {
		return part(cookiePart + cookie)
	}
	return ""
}

const (
	partPeer   part   = "peer"
	cookiePart string = "cookie."
)

func (f *nginx) suffice() error {
	var time, client bool
	for _, p := range f.parts {
		time = time || p.part == partTime
		client = client || p.part == partClient
	}
	switch {
	case !time:
		return errors.New("it has no time: $time_local, $time_iso8601 or $msec")
	case !client:
		return errors.New("it has no client: $remote_addr")
	}
	return nil
}

func (f *nginx) parse(line string, e *Entry) error {
	rest, ok := strings.CutPrefix(line, f.parts[0].until)
	if !ok {
		return errNginx
	}
	var found found
	for i, p := range f.parts[1:] {
		value := rest
		if last := i == len(f.parts)-2; p.until != "" || !last {
			if value, rest, ok = cutEscaped(rest, p.until, last); !ok {
				return errNginx
			}
		}
		if p.part == "" {
			continue
		}
		if err := f.set(e, &found, p.part, unescape(value)); err != nil {
			return err
		}
	}
	return found.check(e)
}

func (f *nginx) set(e *Entry, found *found, p part, value string) error {
	switch {
	case p == partPeer:
		if e.Peer = absent(value); e.Peer == e.Client {
			e.Peer = ""
		}
		return nil
	case strings.HasPrefix(string(p), cookiePart):
		if value = absent(value); value != "" {
			e.Header = append(e.Header, Field{"Cookie", string(p[len(cookiePart):]) + "=" + value})
		}
		return nil
	}
	return setPart(e, found, p, value)
}

// cutEscaped is strings.Cut, but finds no separator that begins with a quote behind a backslash. The last separator is
// the end of the line.
func cutEscaped(s, separator string, last bool) (before, after string, ok bool) {
	if last && strings.HasSuffix(s, separator) {
		return s[:len(s)-len(separator)], "", true
	}
	for from := 0; ; {
		at := strings.Index(s[from:], separator)
		if at < 0 {
			return "", "", false
		}
		if at += from; separator[0] != '"' || !escaped(s, at) {
			return s[:at], s[at+len(separator):], true
		}
		from = at + 1
	}
}

// escaped reports whether an odd number of backslashes stands before s[at].
func escaped(s string, at int) bool {
	n := 0
	for at-n > 0 && s[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// fields returns the names of the fields of the request's header that the format tells, and "cookie NAME" for single
// cookies.
func (f *nginx) fields() (all []string) {
	for _, p := range f.parts {
		if name, ok := strings.CutPrefix(string(p.part), headerPart); ok {
			all = append(all, name)
		}
		if name, ok := strings.CutPrefix(string(p.part), cookiePart); ok {
			all = append(all, "cookie "+name)
		}
	}
	return all
}
