package replay

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// facts are what the requests have in common, as far as a reader has to be warned of it.
type facts struct {
	requests           int64
	first, last        int64 // Unix milliseconds
	fractions, zones   int64 // requests whose times have them
	seconds            int64 // requests at another second than a minute's first
	agents, statuses   int64 // requests that tell them
	limited, noRequest int64 // requests that were answered 429; that tell no readable request
	forwarded          int64 // requests that tell an X-Forwarded-For field
	public, names      int64 // requests from public addresses; from names
}

func (f *facts) see(e *accesslog.Entry) {
	if f.requests == 0 {
		f.first = e.At
	}
	f.last = e.At
	f.requests++
	count := func(n *int64, is bool) {
		if is {
			*n++
		}
	}
	count(&f.fractions, !e.Whole)
	count(&f.zones, !e.NoZone)
	count(&f.seconds, e.At%60_000 >= 1000)
	count(&f.agents, e.Agent != "")
	count(&f.statuses, e.Status != 0)
	count(&f.limited, e.Status == 429)
	count(&f.noRequest, e.Method == "" && e.Target == "")
	count(&f.forwarded, e.Forwarded != "")
}

func (f *facts) seeAddress(a netip.Addr) {
	switch {
	case !a.IsValid():
	case invented.Contains(a):
		f.names++
	case !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !shared.Contains(a):
		f.public++
	}
}

var (
	invented = netip.MustParsePrefix("3fff::/20")     // see hostNames
	shared   = netip.MustParsePrefix("100.64.0.0/10") // between carriers and their customers, and inside of clouds
)

// fewClients is under how many clients they are likely not to be clients but proxies.
const fewClients = 20

// warnings tell what makes the figures less sure than they look, and what to do about it.
func (r *Replay) warnings(in Reading) (all []string) {
	f := &r.facts
	warn := func(is bool, format string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	total := in.Lines
	warn(total > 0 && in.Bad*20 > total, "%s of %s (%.1f %%) could not be read: check -format against the first of them.",
		grouped(in.Bad), counted(total, "line", "lines"), 100*float64(in.Bad)/float64(max(total, 1)))
	warn(in.Late > 0, "%s left out, being more than %s behind lines before: sort the log by time, or raise "+
		"-max-reorder.", counted(in.Late, "line was", "lines were"), shortly(in.MaxReorder))
	warn(in.Reordered > 0, "%s out of order and put in order.", counted(in.Reordered, "line was", "lines were"))
	if f.requests == 0 {
		warn(in.Outside > 0, "No request is left to replay: widen -from and -to.")
		return all
	}
	warn(r.clients() == 1, "All requests come from one client: that is probably your proxy. Log the address that it "+
		"forwards, or name your proxies in trustedProxies or with -trust.")
	few := r.clients() < fewClients
	private := f.public == 0 && f.names == 0
	warn(r.clients() > 1 && private,
		"All clients have private addresses: they are probably your proxies. Log the address "+
			"that they forward, or name them in trustedProxies or with -trust.")
	warn(r.clients() > 1 && few && !private,
		"There are only %d clients: if your service has more, they are probably your "+
			"proxies. Log the address that they forward, or name them in trustedProxies or with -trust.", r.clients())
	warn(f.forwarded > 0 && !r.request.proxies, "The log tells the forwarded address of %s, and no proxy is "+
		"trusted, so it is not used: name your proxies in trustedProxies or with -trust.",
		counted(f.forwarded, "request", "requests"))
	warn(f.seconds == 0 && f.requests > 1, "All times are whole minutes: figures for windows under ten minutes mean "+
		"nothing. Log the time with its seconds.")
	warn(f.seconds > 0 && f.fractions == 0, "Times are whole seconds, so that requests of one second look simultaneous: "+
		"figures for windows under 10 s are estimates.")
	warn(f.last/60_000 == f.first/60_000 && f.requests > 1 && f.seconds > 0,
		"All times lie within one minute: too short to "+
			"tell anything about limits by the minute or longer. Take a log of a week.")
	warn(f.zones == 0, "Times have no zone and are taken for UTC.")
	warn(f.limited > 0, "%s answered 429: a limit was at work already, and these clients might have asked for "+
		"more or less without it.", counted(f.limited, "request was", "requests were"))
	warn(f.noRequest*100 > f.requests,
		"%s no readable request, such as an attempt at TLS. That counts here; in production "+
			"the server answers it before any rule is asked.", counted(f.noRequest, "line holds", "lines hold"))
	return all
}

func (r *Replay) clients() int { return len(r.byAddress) }

// shortly writes a duration without the zeros behind it: "2m".
func shortly(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// counted writes a number and what it counts: "1 line", "1,234 lines".
func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + more
}

// grouped writes a number with commas: 1,234,567.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
