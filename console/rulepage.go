package console

import (
	"slices"
	"time"
)

// rulePage is what the page of a rule shows.
type rulePage struct {
	O           *overview
	Row         *ruleRow
	Charts      []chartView
	Deciders    []decider
	Refused     clientList
	Near        []client
	Shape       *keyShape
	Stores      []string
	Middlewares int
}

type decider struct {
	Who, What string
	Now, Last uint64
}

// rulePage returns the page of a rule, nil if there is none.
func (o *overview) rulePage(id string) *rulePage {
	r := o.watch.byID[id]
	if r == nil {
		return nil
	}
	p := &rulePage{O: o, Near: []client{}, Stores: []string{}, Middlewares: len(r.configs)}
	p.Row = o.Rules[slices.Index(o.watch.rules, r)]
	now, last := &p.Row.Now, &p.Row.Last
	p.Deciders = []decider{
		{"store", "counted for all processes", now.ByStore, last.ByStore},
		{"cache", "refused from memory, as the store did before", now.ByCache, last.ByCache},
		{"this process", "its share, while the store was away", now.ByLocal, last.ByLocal},
		{"nobody", "not judged, or the store was away", now.ByNone, last.ByNone},
	}
	p.Charts = o.ruleCharts(r, p.Row)
	p.Refused = clientList{Clients: []client{}, Since: latest(o.Process.Started, o.Time.Add(-keptSeconds*time.Second))}
	if r.series != nil {
		p.Refused = o.clientsOf(r, &r.series.refused, &topReader{}, topOfRule)
		p.Near = o.nearOf(r, &topReader{}, topOfRule)
	}
	for _, s := range o.watch.shapes() {
		if slices.Contains(s.rules, r) {
			p.Shape = s
		}
	}
	for _, s := range o.watch.stores {
		for i := range r.configs {
			if sameStore(s.store, r.configs[i].config.Store) && !slices.Contains(p.Stores, s.name) {
				p.Stores = append(p.Stores, s.name)
			}
		}
	}
	return p
}
