package replay

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// request is an entry of a log as the middleware would have seen it. It implements [httplimit.Request], and is used for
// one entry after the other.
type request struct {
	e       *accesslog.Entry
	names   *hostNames
	proxies bool // the policy trusts proxies, so the chain that the log has decides who the client is
	remote  string

	http http.Request // filled in where a rule asks for it
	url  url.URL
}

func (r *request) begin(e *accesslog.Entry) {
	r.e = e
	r.remote = e.Client
	if r.proxies && e.Peer != "" && e.Forwarded != "" {
		r.remote = e.Peer
	}
	r.remote = r.names.address(r.remote)
}

func (r *request) Context() context.Context { return context.Background() }
func (r *request) Method() string           { return r.e.Method }
func (r *request) RemoteAddr() string       { return r.remote }
func (r *request) Route() string            { return "" }

// Values implements [httplimit.Request]. The name of a user who has authenticated stands in the field in which it came.
func (r *request) Values(header string) (all []string) {
	switch http.CanonicalHeaderKey(header) {
	case "User-Agent":
		return present(r.e.Agent)
	case "X-Forwarded-For":
		return present(r.e.Forwarded)
	case "Authorization":
		if all = r.others(header); len(all) == 0 && r.e.User != "" {
			return []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(r.e.User+":"))}
		}
		return all
	}
	return r.others(header)
}

func (r *request) others(header string) (all []string) {
	for _, f := range r.e.Header {
		if strings.EqualFold(f.Name, header) {
			all = append(all, f.Value)
		}
	}
	return all
}

func present(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// HTTP implements [httplimit.Request]. Where the log has no readable request line, the path is empty. What it returns
// is of the present entry only: a policy has no functions of its own that might keep it.
func (r *request) HTTP() *http.Request {
	r.setURL()
	host := r.e.Host
	if host == "" {
		host = r.url.Host
	}
	header := http.Header{}
	if r.e.Forwarded != "" {
		header["X-Forwarded-For"] = []string{r.e.Forwarded}
	}
	for _, f := range r.e.Header {
		if name := http.CanonicalHeaderKey(f.Name); name != "X-Forwarded-For" {
			header[name] = append(header[name], f.Value)
		}
	}
	r.http = http.Request{Method: r.e.Method, URL: &r.url, Host: host, Header: header, RemoteAddr: r.remote,
		RequestURI: r.e.Target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody}
	return &r.http
}

func (r *request) setURL() {
	target := r.e.Target
	if strings.HasPrefix(target, "/") && strings.IndexByte(target, '%') < 0 { // a tenth of the price of parsing
		r.url = url.URL{}
		r.url.Path, r.url.RawQuery, _ = strings.Cut(target, "?")
		return
	}
	if u, err := url.ParseRequestURI(target); err == nil {
		r.url = *u
		return
	}
	r.url = url.URL{Path: r.e.Path()}
}

// hostNames gives clients of which a log tells names instead of addresses an address each, so that a key by address
// tells them apart. They are of the network for documentation of RFC 9637, which no client has.
type hostNames struct {
	addresses map[string]string
	names     map[string]string // by the key of the address
}

func newHostNames() *hostNames {
	return &hostNames{addresses: map[string]string{}, names: map[string]string{}}
}

// address returns an address as it is, and for a name the one that stands for it.
func (h *hostNames) address(client string) string {
	if client == "" || client[0] >= '0' && client[0] <= '9' || strings.IndexByte(client, ':') >= 0 {
		if _, err := netip.ParseAddr(client); err == nil {
			return client
		}
	}
	if known, ok := h.addresses[client]; ok {
		return known
	}
	client = strings.Clone(client)
	n := len(h.addresses) + 1
	prefix := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x3f, 0xff, byte(n >> 40 & 0x0f), byte(n >> 32), byte(n >> 24),
		byte(n >> 16), byte(n >> 8), byte(n)}), 64)
	h.addresses[client] = prefix.Addr().String()
	h.names[prefix.String()] = client
	return h.addresses[client]
}

// label returns how a report names the client of a key: by its name where the log told one. Keys that do not come from
// the identity which a rule looks for say so.
func (h *hostNames) label(key string) string {
	key, preflight := strings.CutPrefix(key, "%P:")
	key, noKey := strings.CutPrefix(key, "%N:")
	if name, ok := h.names[key]; ok {
		key = name
	}
	switch {
	case key == "%U" || key == "":
		key = "(everybody)"
		if noKey {
			key = "(nobody)"
		}
	case strings.HasPrefix(key, "%M"):
		key = "(ambiguous)"
	}
	if noKey {
		key += " (by address)"
	}
	if preflight {
		key += " (preflights)"
	}
	return key
}
