package console

import (
	"bytes"
	"slices"
	"strings"
)

// fragments returns what can change on a page, made once a second for all who look at it.
func (c *Console) fragments(o *overview, page, id string) []fragment {
	s, name := &c.streams, page+" "+id
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil || s.second != o.second {
		s.made, s.second = make(map[string][]fragment), o.second
	}
	made, found := s.made[name]
	if !found {
		made = c.makeFragments(o, page, id)
		s.made[name] = made
	}
	return made
}

func (c *Console) makeFragments(o *overview, page, id string) (all []fragment) {
	add := func(id, name string, data any) {
		if html, ok := c.render(name, data); ok {
			all = append(all, fragment{id: id, html: html})
		}
	}
	add("banner", "banner", o)
	add("process", "process", o)
	switch page {
	case "overview":
		add("figures", "figures", o)
		add("refused", "refused", o)
		add("near", "near", o)
		add("charts", "charts", o)
		all = append(all, c.ruleFragments(o)...)
	case "rule":
		if p := o.rulePage(id); p != nil {
			add("chips", "chips", p.Row)
			add("rulefigures", "rulefigures", p)
			add("rulerefused", "rulerefused", p)
			add("rulenear", "rulenear", p)
			add("ruledeciders", "ruledeciders", p)
			add("rulecharts", "rulecharts", p)
		}
	case "stores":
		add("stores", "storelist", o)
	case "activity":
		add("activity", "activitylist", &view{O: o, Activities: c.acts.list()})
	}
	return all
}

// ruleFragments returns the table of rules, which is sent where other rules stand in it, and its rows and their graphs.
// What has not changed since the last time is not made anew.
func (c *Console) ruleFragments(o *overview) (all []fragment) {
	var ids strings.Builder
	for _, row := range o.Rules {
		ids.WriteString(row.ID)
		ids.WriteByte(' ')
	}
	s := &c.streams
	rules := ids.String()
	if s.table.key != "rules "+rules {
		table, _ := c.render("rules", o)
		s.table = fragment{id: "rules", html: table, key: "rules " + rules}
		s.rows = make(map[string]madeRow)
	}
	all = append(all, s.table)
	for _, row := range o.Rules {
		made := s.rows[row.ID]
		if made.row == nil || !made.row.sameCells(row) {
			made.cells, _ = c.render("cells", rowView{o, row, false})
		}
		if made.row == nil || !made.row.sameSeries(row) {
			made.spark, _ = c.render("spark", row.spark())
		}
		made.row = row
		s.rows[row.ID] = made
		all = append(all, fragment{id: "r-" + row.ID, html: made.cells, tail: true},
			fragment{id: "s-" + row.ID, html: made.spark, tail: true})
	}
	return all
}

// madeRow is the HTML of a row of the table of rules, and what it was made from.
type madeRow struct {
	row          *ruleRow
	cells, spark string
}

// sameCells reports whether two states of a rule look the same but for their graphs.
func (row *ruleRow) sameCells(other *ruleRow) bool {
	a, b := *row, *other
	same := a.Now == b.Now && a.Last == b.Last && a.window.NowSeconds == b.window.NowSeconds && a.Limit == b.Limit &&
		a.Key == b.Key && a.Watched == b.Watched && a.Dynamic == b.Dynamic && a.Shadow == b.Shadow &&
		a.Percent == b.Percent && a.Private == b.Private && a.InFlight == b.InFlight && a.Ban == b.Ban
	return same && sameValue(a.LastRefused, b.LastRefused) && sameValue(a.Degraded, b.Degraded)
}

func sameValue[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

func (row *ruleRow) sameSeries(other *ruleRow) bool {
	a, b := &row.Series, &other.Series
	return row.before == other.before && slices.Equal(a.Passed, b.Passed) && slices.Equal(a.Refused, b.Refused) &&
		slices.Equal(a.Shadow, b.Shadow)
}

func (c *Console) render(name string, data any) (html string, ok bool) {
	var b bytes.Buffer
	if err := c.pages.ExecuteTemplate(&b, name, data); err != nil {
		c.logger().Error("httplimit: a part of the operators' page could not be made", "part", name, "error", err)
		return "", false
	}
	return b.String(), true
}
