package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/internal/clientip"
)

// LogOptions say what a [LogObserver] writes. The zero value is right for most.
type LogOptions struct {
	// Client finds the address that a record tells: a Key made by [ClientIP] or [ClientIPFrom], with the proxies of the
	// service, whatever the keys of the rules are. nil: records have no address.
	Client Key
	// PerSecond is how many records are written at most for each rule in one second. The next one after that tells how
	// many were left out. 0 means 10; a negative number writes all of them, also those of an attack.
	PerSecond int
	// Shadow writes a record too for what Shadow rules, and rules with Percent, would have refused.
	Shadow bool
	// Level is that of the records; 0 is slog.LevelInfo. A 503 is written as slog.LevelWarn at least.
	Level slog.Level
}

// LogObserver returns an Observer that writes a record for each request that is refused, or for as many a second as
// opts says, so that a flood does not become one of the log. What passes costs it next to nothing. A nil logger is
// slog.Default at the time of the record.
//
// A record is about one rule: of those that refused, the one with the longest wait, Private or not. Its message is
// "httplimit: refused", or "httplimit: a shadow rule would have refused this request". Names and meanings of the
// attributes are stable:
//
//	namespace    that of the Config, left out if there is none
//	rule, limit  the name of the rule, and the limit that held, "100/m"
//	result       "refused", "banned", "closed" (503) or "shadow_refused"
//	source       who decided: "store", "cache", "local" or "none"
//	status       429 or 503; left out in shadow
//	key          whose counter it is, as the store has it: a hash where the key is a credential, or under KeySecret
//	address      the client's, by LogOptions.Client; left out where it is not to be known
//	method       of the request; left out for Allow
//	route        the pattern that the router matched, left out where there is none (yet)
//	retry_after  how long the client is to wait, "never" if it can never pass; left out with a 503
//	left_out     how many records about this rule were left out since the last one; left out if none were
//
// Neither the path nor any field of the request is written: they may hold secrets, and a client writes them. The texts
// that clients have a part in, key and address, are bounded. Safe for concurrent use.
func LogObserver(logger *slog.Logger, opts LogOptions) Observer {
	if opts.PerSecond == 0 {
		opts.PerSecond = 10
	}
	return &logObserver{logger: logger, opts: opts}
}

type logObserver struct {
	logger *slog.Logger
	opts   LogOptions
	rules  sync.Map // of *logSample, by sampledRule
}

// sampledRule names what is sampled together.
type sampledRule struct{ namespace, rule string }

// Observe implements [Observer].
func (l *logObserver) Observe(ctx context.Context, o *Observation) {
	if o.Status != 0 {
		if worst := longestWait(o.Rules); worst != nil {
			l.write(ctx, o, worst, o.Status)
		}
	}
	if !l.opts.Shadow {
		return
	}
	for i := range o.Rules {
		if o.Rules[i].Result == ResultShadowRefused {
			l.write(ctx, o, &o.Rules[i], 0)
		}
	}
}

// longestWait returns the rule that a refused request has to wait for, nil if there is none.
func longestWait(rules []Observed) *Observed {
	var longest *Observed
	for i := range rules {
		switch r := &rules[i]; r.Result {
		case ResultRefused, ResultBanned, ResultClosed:
			if longest == nil || r.RetryAfter > longest.RetryAfter {
				longest = r
			}
		}
	}
	return longest
}

// write writes the record about rule r of a request that is answered with status, 0 if it is not refused.
func (l *logObserver) write(ctx context.Context, o *Observation, r *Observed, status int) {
	logger, level, message := l.logger, l.opts.Level, "httplimit: refused"
	if logger == nil {
		logger = slog.Default()
	}
	switch status {
	case 0:
		message = "httplimit: a shadow rule would have refused this request"
	case http.StatusServiceUnavailable:
		level = max(level, slog.LevelWarn)
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	leftOut, write := l.sample(o.Namespace, r.Rule)
	if write {
		logger.LogAttrs(ctx, level, message, l.attributes(o, r, status, leftOut)...)
	}
}

func (l *logObserver) attributes(o *Observation, r *Observed, status int, leftOut int64) []slog.Attr {
	attrs := make([]slog.Attr, 0, 12)
	add := func(known bool, a slog.Attr) {
		if known {
			attrs = append(attrs, a)
		}
	}
	add(o.Namespace != "", slog.String("namespace", o.Namespace))
	add(true, slog.String("rule", r.Rule))
	add(true, slog.String("limit", r.Limit.String()))
	add(true, slog.String("result", r.Result.String()))
	add(true, slog.String("source", r.Source.String()))
	add(status != 0, slog.Int("status", status))
	add(true, slog.String("key", r.Key))
	if o.Request != nil {
		addr := l.address(o.Request)
		add(addr.IsValid(), slog.String("address", addr.String()))
		add(true, slog.String("method", clip(o.Request.Method())))
		route := o.Request.Route()
		add(route != "", slog.String("route", route))
	}
	add(r.RetryAfter > 0, waitAttr(r.RetryAfter))
	add(leftOut > 0, slog.Int64("left_out", leftOut))
	return attrs
}

// address returns the client's address by LogOptions.Client, or none.
func (l *logObserver) address(r Request) netip.Addr {
	k, ok := l.opts.Client.(clientIP)
	if !ok {
		return netip.Addr{}
	}
	addr, origin := k.resolver.Client(r.RemoteAddr(), r.Values(k.resolver.Header()))
	if origin == clientip.Ambiguous || !addr.IsValid() {
		return netip.Addr{}
	}
	return k.resolver.Unembed(addr)
}

// check adds a fault for options that no record could follow.
func (l *logObserver) check(f *faults) {
	switch k := l.opts.Client.(type) {
	case nil:
	case clientIP:
		for _, fault := range k.faults {
			f.add("Observer", "LogOptions.Client: %s: %s", fault.Field, fault.Reason)
		}
	default:
		f.add("Observer", "LogOptions.Client is a %T, want a Key made by ClientIP or ClientIPFrom", k)
	}
}

// sample reports whether a record about the rule is to be written now, and how many were not since the last one.
func (l *logObserver) sample(namespace, rule string) (leftOut int64, write bool) {
	if l.opts.PerSecond < 0 {
		return 0, true
	}
	name := sampledRule{namespace, rule}
	found, ok := l.rules.Load(name)
	if !ok {
		found, _ = l.rules.LoadOrStore(name, new(logSample))
	}
	return found.(*logSample).next(time.Now().Unix(), int64(l.opts.PerSecond))
}

// logSample counts the records about one rule. Where the second changes while several requests are refused, a few more
// records may be written; none is left out without being counted.
type logSample struct {
	second  atomic.Int64 // Unix seconds
	written atomic.Int64 // in that second
	leftOut atomic.Int64 // since the last record
}

func (s *logSample) next(second, most int64) (leftOut int64, write bool) {
	if old := s.second.Load(); old != second && s.second.CompareAndSwap(old, second) {
		s.written.Store(0)
	}
	if s.written.Add(1) > most {
		s.leftOut.Add(1)
		return 0, false
	}
	return s.leftOut.Swap(0), true
}
