package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// part is what a column, label or member of a log can tell.
type part string

const (
	partTime      part = "time"
	partClient    part = "client"
	partMethod    part = "method"
	partPath      part = "path"
	partStatus    part = "status"
	partAgent     part = "agent"
	partUser      part = "user"
	partHost      part = "host"
	partForwarded part = "forwarded"
	partRequest   part = "request"
	partQuery     part = "query"
)

// partNames are what -map may put on the left.
var partNames = []part{partTime, partClient, partMethod, partPath, partStatus, partAgent, partUser, partHost,
	partForwarded, partRequest, partQuery}

// known is what servers call these things, in lower case and with the underscores of nginx's variables.
var known = map[string]part{
	"time": partTime, "timestamp": partTime, "ts": partTime, "date": partTime, "datetime": partTime,
	"time_local": partTime, "time_iso8601": partTime, "msec": partTime, "@timestamp": partTime,
	"start_time": partTime, "starttime": partTime, "startutc": partTime,

	"client": partClient, "ip": partClient, "remote_addr": partClient, "client_ip": partClient, "clientip": partClient,
	"remote_ip": partClient, "remote_host": partClient, "address": partClient, "clienthost": partClient,
	"c_ip": partClient, "peer": partClient, "client_addr": partClient, "remoteaddr": partClient, "remoteip": partClient,

	"method": partMethod, "request_method": partMethod, "verb": partMethod, "requestmethod": partMethod,
	"http_method": partMethod, "cs_method": partMethod,

	"path": partPath, "uri": partPath, "url": partPath, "request_uri": partPath, "request_path": partPath,
	"requestpath": partPath, "request_url": partPath, "requesturl": partPath, "target": partPath,
	"cs_uri_stem": partPath,

	"status": partStatus, "code": partStatus, "status_code": partStatus, "statuscode": partStatus,
	"response_code": partStatus, "http_status": partStatus, "downstreamstatus": partStatus, "sc_status": partStatus,

	"agent": partAgent, "ua": partAgent, "user_agent": partAgent, "useragent": partAgent, "http_user_agent": partAgent,
	"cs_user_agent": partAgent,

	"user": partUser, "remote_user": partUser, "username": partUser, "clientusername": partUser,
	"host": partHost, "vhost": partHost, "http_host": partHost, "server_name": partHost,

	"forwarded": partForwarded, "xff": partForwarded, "forwardedfor": partForwarded, "forwarded_for": partForwarded,
	"x_forwarded_for": partForwarded, "http_x_forwarded_for": partForwarded,

	"request": partRequest, "req": partRequest, "request_line": partRequest,
	"query": partQuery, "query_string": partQuery, "args": partQuery,
}

// names say which name stands for what. The zero names are the known ones.
type names struct {
	own map[string]part // by -map, in the case of the log
	// mapped are the parts that own names: the known names of these count no longer.
	mapped map[part]bool
}

// ParseMap reads a list such as "time=ts,client=ip,path=uri,status=code,method=verb,agent=ua": what it is, and the
// name that the log has for it. Names of members inside of objects have dots: "client=http.client_ip".
func parseMap(text string) (names, error) {
	n := names{own: map[string]part{}, mapped: map[part]bool{}}
	if text == "" {
		return n, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		left, right, ok := strings.Cut(strings.TrimSpace(pair), "=")
		p := part(left)
		if !ok || right == "" || !slices.Contains(partNames, p) && !isHeaderPart(left) {
			return n, fmt.Errorf("%q is no pair such as time=ts; on the left stands one of %s, or header.NAME", pair,
				list(partNames))
		}
		if n.mapped[p] {
			return n, fmt.Errorf("%s is there twice", left)
		}
		n.own[right], n.mapped[p] = p, true
	}
	return n, nil
}

func isHeaderPart(s string) bool { return strings.HasPrefix(s, headerPart) && len(s) > len(headerPart) }

// headerPart begins a part that is a field of the request's header: header.X-User.
const headerPart = "header."

// of returns what a name stands for; "" if for nothing.
func (n *names) of(name string) part {
	if p, ok := n.own[name]; ok {
		return p
	}
	if p, ok := known[name]; ok && !n.mapped[p] {
		return p
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == '-' || r == ' ' || r == '(' || r == ')':
			return '_'
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
	if p, ok := known[strings.Trim(plain, "_")]; ok && !n.mapped[p] {
		return p
	}
	if field, ok := strings.CutPrefix(plain, "http_"); ok && field != "" {
		return part(headerPart + strings.ReplaceAll(field, "_", "-"))
	}
	return ""
}

// found says what a line has told.
type found struct{ time, client bool }

func (f *found) check(*Entry) error {
	switch {
	case !f.time:
		return errNoTime
	case !f.client:
		return errNoClient
	}
	return nil
}

// set puts a value where its name says. Of several names for one thing the first counts.
func (n *names) set(e *Entry, f *found, name, value string) error {
	p := n.of(name)
	if p == "" {
		return nil
	}
	return setPart(e, f, p, value)
}

func setPart(e *Entry, f *found, p part, value string) (err error) {
	if value = absent(value); value == "" {
		return nil
	}
	switch p {
	case partTime:
		if f.time {
			return nil
		}
		f.time = true
		return e.setTime(value)
	case partClient:
		if !f.client {
			e.setPlainClient(value)
			f.client = e.Client != ""
		}
	case partMethod:
		e.Method = value
	case partPath:
		setPath(e, value)
	case partQuery:
		if !strings.Contains(e.Target, "?") {
			e.Target += "?" + strings.TrimPrefix(value, "?")
		}
	case partStatus:
		e.Status, err = statusOf(value)
	case partAgent:
		e.Agent = value
	case partUser:
		e.User = value
	case partHost:
		e.Host = value
	case partForwarded:
		e.Forwarded = value
	case partRequest:
		if e.Target == "" {
			e.setRequest(value)
		}
	default:
		e.add(strings.TrimPrefix(string(p), headerPart), value)
	}
	return err
}

// setPath sets the target, to which a query may have been there before.
func setPath(e *Entry, path string) {
	if strings.HasPrefix(e.Target, "?") && !strings.Contains(path, "?") {
		path += e.Target
	}
	e.Target = path
}

// suffice reports what no column tells, though a replay needs it.
func (n *names) suffice(columns []string) error {
	var have []part
	for _, c := range columns {
		have = append(have, n.of(c))
	}
	var errs []error
	for _, p := range []part{partTime, partClient} {
		if !slices.Contains(have, p) {
			errs = append(errs, fmt.Errorf("none of them is the %s; name it with -map '%s=COLUMN'", p, p))
		}
	}
	return errors.Join(errs...)
}

func list(parts []part) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(p))
	}
	return b.String()
}
