package report

import (
	"strings"
	"time"
)

// numbers is the numbers of a picture. The first column names the rows.
type numbers struct {
	Caption string
	Texts   int // how many columns, from the left, are text; the others are numbers
	Head    []string
	Rows    [][]string
}

func (r Rule) timelineTable() numbers {
	t, _ := r.Timeline.coarser(24)
	out := numbers{Caption: "Requests over time, in UTC", Texts: 1, Head: []string{"From", "Passed", "Refused", "Share"}}
	for i := range t.Passed {
		out.Rows = append(out.Rows, []string{moment(t.Start.Add(time.Duration(i) * t.Step)), number(t.Passed[i]),
			number(t.Refused[i]), percent(t.Refused[i], t.Passed[i]+t.Refused[i])})
	}
	return out
}

func (r Rule) peaksTable() numbers {
	w := r.ownWindow()
	out := numbers{Caption: "So much do clients ask for in their busiest " + span(w.Length), Texts: 1,
		Head: []string{"Clients", "Number", "Half, at most", "90 %", "99 %", "99.9 %", "The busiest", "Above the limit"}}
	for _, class := range []struct {
		name  string
		peaks []Peak
	}{{"People", w.People}, {"Bots", w.Bots}} {
		n := clientsOf(class.peaks)
		row := []string{class.name, number(n)}
		for _, permille := range []int64{500, 900, 990, 999, 1000} {
			row = append(row, number(percentile(class.peaks, n, permille)))
		}
		out.Rows = append(out.Rows, append(row, number(above(class.peaks, r.Limit.Requests))))
	}
	return out
}

func (r Rule) curveTable() numbers {
	w := r.ownWindow()
	out := numbers{Caption: "What other limits per " + span(w.Length) + " would have refused", Texts: 0,
		Head: []string{"Limit", "People's requests", "People", "Bots' requests", "Bots"}}
	for _, p := range w.Curve {
		limit := number(p.Requests)
		if p.Requests == r.Limit.Requests {
			limit = "▸ " + limit
		}
		out.Rows = append(out.Rows, []string{limit,
			percent(p.People.Refused, p.People.Requests), percent(p.People.ClientsRefused, p.People.Clients),
			percent(p.Bots.Refused, p.Bots.Requests), percent(p.Bots.ClientsRefused, p.Bots.Clients)})
	}
	return out
}

func (r Rule) clientsTable() numbers {
	out := numbers{Caption: "The clients refused most", Texts: 4,
		Head: []string{"Client", "Kind", "User agent", "Paths refused",
			"Requests", "Refused", "Of all refusals", "From first to last"}}
	for _, c := range r.MostRefused {
		kind, agent := "people", c.Agent
		if c.Bot {
			kind = "bots: " + c.Why
		}
		if agent == "" {
			agent = "none"
		}
		paths := make([]string, len(c.Paths))
		for i, path := range c.Paths {
			paths[i] = shorten(path, 60)
		}
		out.Rows = append(out.Rows, []string{shorten(c.Key, 60), kind, shorten(agent, 80), strings.Join(paths, "\n"),
			number(c.Requests), number(c.Refused), percent(c.Refused, r.Total.Refused), period(c.First, c.Last)})
	}
	return out
}

func (r Rule) heatTable() numbers {
	out := numbers{Caption: "The busiest clients", Texts: 2,
		Head: []string{"Client", "Kind", "Requests", "Refused", "Share"}}
	for _, row := range r.Heat.Rows {
		kind, passed, refused := "people", sum(row.Passed), sum(row.Refused)
		if row.Bot {
			kind = "bots"
		}
		out.Rows = append(out.Rows, []string{shorten(row.Key, 60), kind, number(passed + refused), number(refused),
			percent(refused, passed+refused)})
	}
	return out
}

func (r Rule) algorithmsTable() numbers {
	out := numbers{Caption: r.Limit.String() + " under each algorithm", Texts: 1, Head: []string{"Algorithm", "Refused",
		"Clients refused", "Most admitted in a window", "Retry-After: median", "90 %", "99 %", "Longest"}}
	for _, o := range r.Algorithms {
		row := []string{o.Algorithm.String(), number(o.Refused), number(o.ClientsRefused), number(o.MostAdmitted),
			wait(o.Wait50), wait(o.Wait90), wait(o.Wait99), wait(o.WaitMax)}
		switch {
		case o.LeftOut != "":
			row = []string{o.Algorithm.String(), "not possible: " + o.LeftOut, "", "", "", "", "", ""}
		case o.Refused == 0:
			row = append(row[:4], "–", "–", "–", "–")
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func sum(counts []int64) (all int64) {
	for _, n := range counts {
		all += n
	}
	return all
}
