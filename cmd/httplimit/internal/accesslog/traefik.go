package accesslog

import "strings"

// traefik reads the JSON of Traefik. ClientHost is what the X-Forwarded-For field said where Traefik trusts it, all of
// it: the last address is then who Traefik's own proxy saw, and those before it are the chain.
type traefik struct{}

func (traefik) parse(line string, e *Entry) error {
	var l map[string]text
	if err := unmarshal(line, &l); err != nil {
		return err
	}
	stamp := l["StartUTC"]
	if stamp == "" {
		stamp = l["StartLocal"]
	}
	if stamp == "" {
		stamp = l["time"]
	}
	if stamp == "" {
		return errNoTime
	}
	if err := e.setTime(string(stamp)); err != nil {
		return err
	}
	client := string(l["ClientHost"])
	if client == "" {
		client = withoutPort(string(l["ClientAddr"]))
	}
	if comma := strings.LastIndexByte(client, ','); comma >= 0 {
		e.Forwarded, client = strings.TrimSpace(client[:comma]), strings.TrimSpace(client[comma+1:])
	}
	if e.Client = client; client == "" || client == "-" {
		return errNoClient
	}
	e.Method, e.Target, e.Host = string(l["RequestMethod"]), string(l["RequestPath"]), string(l["RequestHost"])
	e.User = absent(string(l["ClientUsername"]))
	for name, value := range l {
		if field, ok := strings.CutPrefix(name, "request_"); ok && value != "REDACTED" &&
			(e.Forwarded == "" || !strings.EqualFold(field, "X-Forwarded-For")) {
			e.add(field, string(value))
		}
	}
	status := l["DownstreamStatus"]
	if status == "" {
		status = l["OriginStatus"]
	}
	var err error
	e.Status, err = statusOf(string(status))
	return err
}
