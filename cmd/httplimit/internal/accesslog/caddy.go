package accesslog

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// caddy reads the JSON of Caddy 2. Its versions differ: until 2.4 the peer stood in remote_addr with its port, since
// 2.5 in remote_ip; client_ip, which is what Caddy makes of its trusted proxies, came with 2.7. Caddy can be told to
// write its time as text.
type caddy struct{}

type caddyLine struct {
	TS      text `json:"ts"`
	Status  text `json:"status"`
	UserID  text `json:"user_id"`
	Request *struct {
		RemoteAddr text       `json:"remote_addr"`
		RemoteIP   text       `json:"remote_ip"`
		ClientIP   text       `json:"client_ip"`
		Method     text       `json:"method"`
		Host       text       `json:"host"`
		URI        text       `json:"uri"`
		Headers    headerText `json:"headers"`
	} `json:"request"`
}

func (caddy) parse(line string, e *Entry) error {
	var l caddyLine
	if err := unmarshal(line, &l); err != nil {
		return err
	}
	if l.TS == "" {
		return errNoTime
	}
	if l.Request == nil {
		return errNoRequest
	}
	if err := e.setTime(string(l.TS)); err != nil {
		return err
	}
	r := l.Request
	peer := string(r.RemoteIP)
	if peer == "" {
		peer = withoutPort(string(r.RemoteAddr))
	}
	if e.Client = string(r.ClientIP); e.Client == "" {
		e.Client = peer
	} else if e.Client != peer {
		e.Peer = peer
	}
	if e.Client == "" {
		return errNoClient
	}
	e.Method, e.Target, e.Host, e.User = string(r.Method), string(r.URI), string(r.Host), string(l.UserID)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		values := r.Headers[name]
		if strings.EqualFold(name, "X-Forwarded-For") {
			values = lines{strings.Join(values, ", ")}
		}
		for _, value := range values {
			if value != "REDACTED" { // Caddy writes this for credentials
				e.add(name, value)
			}
		}
	}
	var err error
	e.Status, err = statusOf(string(l.Status))
	return err
}

func sortedNames(members map[string]any) []string { return slices.Sorted(maps.Keys(members)) }

var _ json.Unmarshaler = (*text)(nil)
