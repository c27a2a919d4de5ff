package replay

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
)

// Reading is what reading the logs has told.
type Reading struct {
	Files      []string
	Format     string
	Lines      int64 // read
	Bad        int64 // not understood
	Outside    int64 // not within -from and -to
	Late       int64 // too far behind to be put in order
	Reordered  int64 // put in order
	FirstBad   string
	MaxReorder time.Duration
}

// Report tells what has been seen.
func (r *Replay) Report(in Reading) report.Data {
	data := report.Data{Anonymized: r.hidden != nil, Input: r.input(in), Refused: r.refused,
		ClientsRefused: r.clientsRefused}
	if r.hidden != nil {
		for name := range r.names.addresses {
			r.hidden.noteName(name)
		}
	}
	next := 0
	for i := range r.policy.Rules {
		if r.policy.Rules[i].LeftOut != "" {
			config := r.policy.Config.Rules[i]
			data.Rules = append(data.Rules, report.Rule{Name: config.Name, Key: r.policy.Rules[i].Key,
				When: r.policy.Rules[i].When, Limit: config.Limit, LeftOut: r.policy.Rules[i].LeftOut})
			continue
		}
		data.Rules = append(data.Rules, r.ruleReport(&r.rules[next]))
		next++
	}
	return data
}

func (r *Replay) input(in Reading) report.Input {
	data := report.Input{Files: in.Files, Lines: in.Lines, Parsed: in.Lines - in.Bad, Bad: in.Bad,
		Outside:  in.Outside + in.Late,
		FirstBad: in.FirstBad, Format: in.Format, Clients: int64(r.clients()), Warnings: r.warnings(in)}
	if r.facts.requests > 0 {
		data.From, data.To = moment(r.facts.first), moment(r.facts.last)
	}
	found := map[string]*report.Sign{}
	for _, c := range r.byAddress {
		why := c.sign(r.facts.agents > 0)
		if why == "" {
			data.People++
			continue
		}
		if found[why] == nil {
			found[why] = &report.Sign{Why: why}
		}
		found[why].Clients++
		found[why].Requests += int64(c.requests)
	}
	for _, why := range signs {
		if found[why] != nil {
			data.Bots = append(data.Bots, *found[why])
		}
	}
	slices.SortStableFunc(data.Bots, func(a, b report.Sign) int { return cmp.Compare(b.Clients, a.Clients) })
	return data
}

func (r *Replay) ruleReport(u *ruleUse) report.Rule {
	data := report.Rule{Name: u.config.Name, Key: u.rule.Key, When: u.rule.When, Limit: u.config.Limit}
	u.wait()
	u.minutes.at(r.facts.last)
	u.heat.at(r.facts.last)
	data.Timeline.Start, data.Timeline.Step = u.minutes.start(), u.minutes.step()
	data.Timeline.Passed, data.Timeline.Refused = u.timeline.fill(&u.minutes)
	clients := slices.SortedFunc(slices.Values(u.clients), func(a, b *clientUse) int {
		return cmp.Or(cmp.Compare(b.refused, a.refused), cmp.Compare(b.requests, a.requests), cmp.Compare(a.key, b.key))
	})
	for _, c := range clients {
		counts := &data.People
		if c.conduct.sign(r.facts.agents > 0) != "" {
			counts = &data.Bots
		}
		count(counts, c.requests, c.refused)
		count(&data.Total, c.requests, c.refused)
	}
	for i := range u.windows {
		data.Windows = append(data.Windows, r.windowReport(u, i, clients))
	}
	for _, c := range clients[:min(len(clients), r.options.Top)] {
		if c.refused > 0 {
			data.MostRefused = append(data.MostRefused, r.clientReport(c))
		}
	}
	data.Heat.Start, data.Heat.Step = u.heat.start(), u.heat.step()
	for _, c := range clients[:min(len(clients), maxRows)] {
		row := report.HeatRow{Key: r.label(c.key), Bot: c.conduct.sign(r.facts.agents > 0) != ""}
		row.Passed, row.Refused = u.mannerOf(c).heat.fill(&u.heat)
		data.Heat.Rows = append(data.Heat.Rows, row)
	}
	data.Algorithms, data.Notes = u.comparison.outcomes(), r.notes(u)
	return data
}

// maxRows is how many clients a heat map shows.
const maxRows = 40

func count(c *report.Counts, requests, refused int64) {
	c.Requests += requests
	c.Refused += refused
	c.Clients++
	if refused > 0 {
		c.ClientsRefused++
	}
}

// windowReport tells how the clients used windows of the ith kind.
func (r *Replay) windowReport(u *ruleUse, i int, clients []*clientUse) report.Window {
	k, own := &u.windows[i], u.config.Limit.Requests
	w := report.Window{Length: time.Duration(k.length) * time.Millisecond}
	var peaks [2]map[int64]int64
	peaks[0], peaks[1] = map[int64]int64{}, map[int64]int64{}
	points := make([]report.Point, len(k.limits))
	used := 0 // points at which something was refused
	for _, c := range clients {
		use, class := &windowUse{}, 0
		if c.more != nil {
			use = &c.more.windows[i]
		} else {
			use.see(k, c.first.at, c.first.cost, c.first.counted)
		}
		if c.conduct.sign(r.facts.agents > 0) != "" {
			class = 1
		}
		peaks[class][int64(use.peak)]++
		used = max(used, len(use.tried))
		for at := range points {
			refused := int64(0)
			if at < len(use.tried) {
				refused = int64(use.tried[at].refused)
			}
			of := &points[at].People
			if class == 1 {
				of = &points[at].Bots
			}
			count(of, c.requests, refused)
		}
	}
	w.People, w.Bots = sortedPeaks(peaks[0]), sortedPeaks(peaks[1])
	for at := range points {
		points[at].Requests = k.limits[at]
		if at <= used || i == 0 && k.limits[at] == own {
			w.Curve = append(w.Curve, points[at])
		}
	}
	return w
}

func sortedPeaks(clients map[int64]int64) (all []report.Peak) {
	for _, units := range slices.Sorted(maps.Keys(clients)) {
		all = append(all, report.Peak{Units: units, Clients: clients[units]})
	}
	return all
}

func (r *Replay) clientReport(c *clientUse) report.Client {
	why := c.conduct.sign(r.facts.agents > 0)
	client := report.Client{Key: r.label(c.key), Bot: why != "", Why: why, Agent: c.refusals.agent, Requests: c.requests,
		Refused: c.refused, First: moment(c.refusals.first), Last: moment(c.refusals.last), Paths: c.refusals.sample()}
	if r.hidden != nil {
		client.Agent = r.hidden.agent(client.Agent)
		for i := range client.Paths {
			client.Paths[i] = r.hidden.path(client.Paths[i], func(s string) bool { return s != "" && r.store.keys[s] != nil })
		}
	}
	return client
}

// label returns how the report names the client of a key.
func (r *Replay) label(key string) string {
	if r.hidden != nil {
		return r.hidden.client(key)
	}
	return r.names.label(key)
}

// notes say how the replay of a rule differs from production.
func (r *Replay) notes(u *ruleUse) []string {
	notes := slices.Clone(u.rule.Notes)
	if u.config.Percent > 0 && u.config.Percent < 100 && u.outside > 0 {
		notes = append(notes, "With \"percent\": 100 "+
			counted(u.outside, "more request", "more requests")+" would have been refused.")
	}
	if u.banned > 0 {
		notes = append(notes, counted(u.banned, "refusal is", "refusals are")+" by the ban.")
	}
	if u.config.CountStatus != nil && r.facts.statuses < r.facts.requests {
		notes = append(notes,
			counted(r.facts.requests-r.facts.statuses, "request has", "requests have")+" no status in the log, and count.")
	}
	if !u.windows[0].exact(u) {
		notes = append(notes, "The curve of limits is drawn with the arithmetic of sliding-window.")
	}
	return notes
}
