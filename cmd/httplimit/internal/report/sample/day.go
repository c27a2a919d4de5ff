package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

// client is one made up client: how many requests it sent in which minute.
type client struct {
	key, why, agent string
	paths           []string
	minutes         map[int]int64
	peak            int64
}

// traffic is minutes of made up clients.
type traffic struct {
	start   time.Time
	minutes int
	clients []client
}

var start = time.Date(2026, time.March, 2, 6, 0, 0, 0, time.UTC)

// made makes people, who come for a few minutes and more at noon, and bots, which come for longer and evenly.
func made(people, bots, minutes int) traffic {
	rng := rand.New(rand.NewPCG(19, uint64(people+bots+minutes)))
	t := traffic{start: start, minutes: minutes}
	for i := range people {
		c := client{
			key: fmt.Sprintf("203.0.%d.%d", 100+i/250, i%250), agent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/148.0",
			paths: []string{"/cart", "/search?q=lamp", "/"}, minutes: map[int]int64{},
		}
		noon := float64(minutes) * (0.5 + 0.18*rng.NormFloat64())
		pace := math.Exp(0.6 + 0.7*rng.NormFloat64())
		for range 2 + rng.IntN(12) {
			at := int(noon+rng.NormFloat64()*15) % minutes
			c.minutes[max(at, 0)] += 1 + int64(pace*rng.ExpFloat64())
		}
		t.clients = append(t.clients, c.finished())
	}
	signs := []string{"declares itself", "no user agent", "asked for robots.txt", "over half 4xx", "even gaps"}
	for i := range bots {
		c := client{
			key: fmt.Sprintf("2001:db8:%x:%x::/64", i+1, 17*i), why: signs[i%5], agent: "examplebot/2.1 (+https://bot.example)",
			paths: []string{"/sitemap.xml", "/products/1", "/products/2"}, minutes: map[int]int64{},
		}
		if i%5 == 1 {
			c.agent = ""
		}
		from := rng.IntN(minutes)
		pace := math.Exp(0.9 + 1.5*rng.NormFloat64())
		for at := from; at < min(minutes, from+minutes/(2+i%6)+1); at++ {
			c.minutes[at] += 1 + int64(pace*(0.8+0.4*rng.Float64()))
		}
		t.clients = append(t.clients, c.finished())
	}
	return t
}

func (c client) finished() client {
	for _, n := range c.minutes {
		c.peak = max(c.peak, n)
	}
	return c
}

// refused is what a FixedWindow of so many requests a minute refuses of c: in all, and from minute to minute.
func (c client) refused(limit int64) (all int64) {
	for _, n := range c.minutes {
		all += max(0, n-limit)
	}
	return all
}

func (c client) requests() (all int64) {
	for _, n := range c.minutes {
		all += n
	}
	return all
}

func (t traffic) data(limits ...limiter.Limit) report.Data {
	data := report.Data{Policy: "policy.json", Tool: "v0.4.0", Input: report.Input{
		Files: []string{"access.log.1.gz", "access.log"}, Format: "combined",
		From: t.start, To: t.start.Add(time.Duration(t.minutes)*time.Minute - time.Second),
	}}
	signs := map[string]*report.Sign{}
	for _, c := range t.clients {
		data.Input.Lines += c.requests()
		data.Input.Clients++
		if c.why == "" {
			data.Input.People++
			continue
		}
		if signs[c.why] == nil {
			signs[c.why] = &report.Sign{Why: c.why}
		}
		signs[c.why].Clients++
		signs[c.why].Requests += c.requests()
	}
	for _, s := range signs {
		data.Input.Bots = append(data.Input.Bots, *s)
	}
	sort.Slice(data.Input.Bots, func(i, j int) bool { return data.Input.Bots[i].Why < data.Input.Bots[j].Why })
	data.Input.Parsed = data.Input.Lines
	names := []string{"address", "login", "search", "export"}
	for i, l := range limits {
		rule := t.rule(names[i%4], l)
		data.Refused = max(data.Refused, rule.Total.Refused)
		data.ClientsRefused = max(data.ClientsRefused, rule.Total.ClientsRefused)
		data.Rules = append(data.Rules, rule)
	}
	return data
}

func (t traffic) rule(name string, l limiter.Limit) report.Rule {
	r := report.Rule{Name: name, Key: "ip", Limit: l}
	own := t.window(l.Requests)
	point := own.Curve[slices.IndexFunc(own.Curve, func(p report.Point) bool { return p.Requests == l.Requests })]
	r.People, r.Bots = point.People, point.Bots
	r.Total = report.Counts{
		Requests: point.People.Requests + point.Bots.Requests, Refused: point.People.Refused + point.Bots.Refused,
		Clients:        point.People.Clients + point.Bots.Clients,
		ClientsRefused: point.People.ClientsRefused + point.Bots.ClientsRefused,
	}
	hour := own
	hour.Length, hour.Curve = time.Hour, nil
	hour.People, hour.Bots = longer(own.People), longer(own.Bots)
	own.Length = l.Window
	r.Windows = []report.Window{own, hour}
	r.Timeline = report.Timeline{
		Start: t.start, Step: time.Minute, Passed: make([]int64, t.minutes), Refused: make([]int64, t.minutes),
	}
	for _, c := range t.clients {
		for at, n := range c.minutes {
			r.Timeline.Passed[at] += min(n, l.Requests)
			r.Timeline.Refused[at] += max(0, n-l.Requests)
		}
	}
	byRefusals := slices.SortedStableFunc(slices.Values(t.clients), func(a, b client) int {
		if d := b.refused(l.Requests) - a.refused(l.Requests); d != 0 {
			return int(d)
		}
		return int(b.requests() - a.requests())
	})
	r.MostRefused = t.mostRefused(byRefusals, l.Requests)
	r.Heat = t.heat(byRefusals, l.Requests)
	r.Algorithms = algorithms(r.Total, l)
	return r
}

func (t traffic) window(limit int64) report.Window {
	w := report.Window{}
	people, bots, most := map[int64]int64{}, map[int64]int64{}, int64(0)
	for _, c := range t.clients {
		most = max(most, c.peak)
		if c.why == "" {
			people[c.peak]++
		} else {
			bots[c.peak]++
		}
	}
	w.People, w.Bots = sorted(people), sorted(bots)
	limits := []int64{limit}
	for decade := int64(1); ; decade *= 10 {
		limits = append(limits, decade, 2*decade, 5*decade)
		if decade > most {
			break
		}
	}
	slices.Sort(limits)
	for _, l := range slices.Compact(limits) {
		w.Curve = append(w.Curve, t.point(l))
		if l >= max(most, limit) {
			break
		}
	}
	return w
}

func (t traffic) point(limit int64) report.Point {
	p := report.Point{Requests: limit}
	for _, c := range t.clients {
		counts := &p.People
		if c.why != "" {
			counts = &p.Bots
		}
		refused := c.refused(limit)
		counts.Requests += c.requests()
		counts.Refused += refused
		counts.Clients++
		if refused > 0 {
			counts.ClientsRefused++
		}
	}
	return p
}

func sorted(peaks map[int64]int64) (out []report.Peak) {
	for units, clients := range peaks {
		out = append(out, report.Peak{Units: units, Clients: clients})
	}
	slices.SortFunc(out, func(a, b report.Peak) int { return int(a.Units - b.Units) })
	return out
}

// longer makes up what peaks are over a longer window.
func longer(peaks []report.Peak) []report.Peak {
	out := slices.Clone(peaks)
	for i := range out {
		out[i].Units *= 4
	}
	return out
}

func (t traffic) mostRefused(clients []client, limit int64) (out []report.Client) {
	for _, c := range clients[:min(50, len(clients))] {
		if c.refused(limit) == 0 {
			break
		}
		first, last := t.minutes, 0
		for at, n := range c.minutes {
			if n > limit {
				first, last = min(first, at), max(last, at)
			}
		}
		out = append(out, report.Client{
			Key: c.key, Bot: c.why != "", Why: c.why, Agent: c.agent, Paths: c.paths,
			Requests: c.requests(), Refused: c.refused(limit),
			First: t.start.Add(time.Duration(first) * time.Minute),
			Last:  t.start.Add(time.Duration(last)*time.Minute + 41*time.Second),
		})
	}
	return out
}

func (t traffic) heat(clients []client, limit int64) report.Heat {
	step := (t.minutes + 119) / 120
	h := report.Heat{Start: t.start, Step: time.Duration(step) * time.Minute}
	for _, c := range clients[:min(40, len(clients))] {
		n := (t.minutes + step - 1) / step
		row := report.HeatRow{Key: c.key, Bot: c.why != "", Passed: make([]int64, n), Refused: make([]int64, n)}
		for at, n := range c.minutes {
			row.Passed[at/step] += min(n, limit)
			row.Refused[at/step] += max(0, n-limit)
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

// algorithms makes up what they would differ by.
func algorithms(total report.Counts, l limiter.Limit) (out []report.Outcome) {
	for i, a := range []limiter.Algorithm{
		limiter.SlidingWindow, limiter.SlidingLog, limiter.FixedWindow, limiter.TokenBucket, limiter.StrictWindow,
	} {
		o := report.Outcome{Algorithm: a}
		if a == limiter.SlidingLog && l.Requests > 100_000 {
			o.LeftOut = "it keeps at most 100,000 requests"
			out = append(out, o)
			continue
		}
		o.Refused = total.Refused * int64(100+7*i) / 100
		o.ClientsRefused = total.ClientsRefused
		if total.Refused > 0 {
			o.MostAdmitted = l.Requests * []int64{128, 100, 187, 165, 100}[i] / 100
			scale := time.Duration(i + 1)
			o.Wait50, o.Wait90 = l.Window*scale/12, l.Window*scale/8
			o.Wait99, o.WaitMax = l.Window*scale/6, l.Window*scale/5
		}
		out = append(out, o)
	}
	return out
}
