package console

import (
	"embed"
	"html/template"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

//go:embed templates/*.html
var templateFiles embed.FS

// rowView is a row of the table of rules, with its graph or without.
type rowView struct {
	O     *overview
	Row   *ruleRow
	Spark bool
}

// clientAt is a client and the present.
type clientAt struct {
	Now    time.Time
	Client client
}

// bounds writes how often a client was counted.
func bounds(k client) string {
	switch {
	case k.Least == k.Most:
		return number(k.Least)
	case k.Least == 0:
		return "up to " + number(k.Most)
	}
	return number(k.Least) + " to " + number(k.Most)
}

// times writes how often a client was counted in a sentence.
func times(k client) string {
	if k.Least == 1 && k.Most == 1 {
		return "once"
	}
	return bounds(k) + " times"
}

type shadowSum struct {
	Rules     int
	Now, Last uint64
}

// storeHealth counts servers, those that do not answer, rules that are not decided, and stores that tell nothing.
type storeHealth struct{ All, Down, Degraded, Silent int }

func parsePages() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"rate":    func(n uint64, seconds int) string { return rate(float64(n) / float64(seconds)) },
		"ratio":   func(n, of uint64) string { return rate(float64(n) / float64(max(of, 1))) },
		"number":  number,
		"count":   func(n int64) string { return number(uint64(max(n, 0))) },
		"share":   share,
		"part":    func(n, of int64) string { return share(uint64(max(n, 0)), uint64(max(of, 0))) },
		"span":    span,
		"seconds": func(n int) time.Duration { return time.Duration(n) * time.Second },
		"clock":   clock,
		"since":   func(now, then time.Time) time.Duration { return max(0, now.Sub(then)) },
		"whole":   func(d time.Duration) time.Duration { return max(time.Second, d.Truncate(time.Second)) },
		"zone":    func(t time.Time) string { return t.Format("MST") },
		"join":    func(all []string) string { return strings.Join(all, ", ") },
		"bounds":  bounds,
		"times":   times,
		"effect":  effectOf,
		"mostOf":  func(l limiter.Limit) int64 { return mostOf(&l) },
		"wait":    waitText,
		"source":  sourceText,
		"sum":     sumUp,
		"mostly":  (*overview).mostly,
		"shadows": (*overview).shadows,
		"health":  (*overview).health,
		"sinceTop": func(o *overview) time.Time {
			span := time.Unix(int64((o.second/halfSpan-1)*halfSpan), 0)
			return latest(span, o.Process.Started)
		},
		"deciders":     decidersText,
		"refusedChart": (*overview).refusedChart,
		"passedChart":  (*overview).passedChart,
		"sparkOf":      (*ruleRow).spark,
		"rowOf":        func(o *overview, row *ruleRow, spark bool) rowView { return rowView{o, row, spark} },
		"at":           func(now time.Time, k client) clientAt { return clientAt{now, k} },
	}).ParseFS(templateFiles, "templates/*.html"))
}

// mostly returns the rule that refuses most now, nil if none refuses anything. What is answered 503 is told apart.
func (o *overview) mostly() (most *ruleRow) {
	least := uint64(1)
	for _, row := range o.Rules {
		if n := row.Now.Refused + row.Now.Banned; n >= least {
			most, least = row, n+1
		}
	}
	return most
}

// shadows sums what rules would refuse if they were in force; nil if all are.
func (o *overview) shadows() *shadowSum {
	var sum shadowSum
	for _, row := range o.Rules {
		if row.Shadow || row.Percent > 0 || row.Last.ShadowRefused > 0 {
			sum.Rules++
			sum.Now += row.Now.ShadowRefused
			sum.Last += row.Last.ShadowRefused
		}
	}
	if sum.Rules == 0 {
		return nil
	}
	return &sum
}

// Young reports whether the Console has counted for less than it shows.
func (o *overview) Young() bool { return o.Requests.Window.LastSeconds < keptSeconds }

func (o *overview) health() (h storeHealth) {
	for _, s := range o.Stores {
		if s.Stats == nil {
			h.Silent++
			continue
		}
		for _, server := range s.Stats.Servers {
			h.All++
			if !server.Healthy {
				h.Down++
			}
		}
	}
	for _, row := range o.Rules {
		if row.Degraded != nil {
			h.Degraded++
		}
	}
	return h
}

func waitText(d time.Duration) string {
	switch {
	case d <= 0:
		return "now"
	case d == limiter.Never:
		return "never"
	}
	return "in " + span(up(d))
}

// up rounds a wait up to a whole second.
func up(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }

func sourceText(s httplimit.Source) string {
	switch s {
	case httplimit.SourceStore:
		return "the store"
	case httplimit.SourceCache:
		return "the store, from memory"
	case httplimit.SourceLocal:
		return "this process alone: the store is away"
	}
	return "nobody: the store is away"
}

// decidersText says who decided, in shares.
func decidersText(n counts) string {
	var all []string
	for _, one := range []struct {
		name string
		n    uint64
	}{{"store", n.ByStore}, {"cache", n.ByCache}, {"this process", n.ByLocal}, {"nobody", n.ByNone}} {
		if one.n == n.Total() {
			return one.name
		}
		if one.n > 0 {
			all = append(all, one.name+" "+share(one.n, n.Total()))
		}
	}
	return strings.Join(all, ", ")
}
