package console

import (
	"bytes"
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
func (c *Console) ruleFragments(o *overview) (all []fragment) {
	var ids strings.Builder
	for _, row := range o.Rules {
		ids.WriteString(row.ID)
		ids.WriteByte(' ')
	}
	if table, ok := c.render("rules", o); ok {
		all = append(all, fragment{id: "rules", html: table, key: "rules " + ids.String()})
	}
	for _, row := range o.Rules {
		if cells, ok := c.render("cells", rowView{o, row, false}); ok {
			all = append(all, fragment{id: "r-" + row.ID, html: cells, tail: true})
		}
		if graph, ok := c.render("spark", row.spark()); ok {
			all = append(all, fragment{id: "s-" + row.ID, html: graph, tail: true})
		}
	}
	return all
}

func (c *Console) render(name string, data any) (html string, ok bool) {
	var b bytes.Buffer
	if err := c.pages.ExecuteTemplate(&b, name, data); err != nil {
		c.logger().Error("httplimit: a part of the operators' page could not be made", "part", name, "error", err)
		return "", false
	}
	return b.String(), true
}
