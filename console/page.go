package console

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

//go:embed templates/*.html
var templateFiles embed.FS

// view is what a page is made of.
type view struct {
	Page, Title string
	Nav         []link
	Live        string // what the page asks the stream for; "" where it does not move
	Operator    string // "" for who may only look
	O           *overview

	Rule       *rulePage
	Shapes     []*keyShape
	Found      *found
	Shown      string
	Message    *message
	Activities []activity
	Configs    []configText
}

type link struct {
	Href, Text string
	Here       bool
}

type message struct{ Kind, Text string }

// newView returns the view of a page for who sent r.
func (c *Console) newView(r *http.Request, page, title string) *view {
	v := &view{Page: page, Title: title, O: c.snapshot()}
	v.Operator, _ = c.operator(r)
	for _, l := range []link{
		{"./", "Overview", page == "overview" || page == "rule"},
		{"clients", "Clients", page == "clients" || page == "client"},
		{"stores", "Stores", page == "stores"},
		{"config", "Configuration", page == "config"},
		{"activity", "Activity", page == "activity"},
	} {
		v.Nav = append(v.Nav, l)
	}
	return v
}

// serve writes a page. It is made in memory first, so that what goes wrong does not end in the middle of it.
func (c *Console) serve(w http.ResponseWriter, status int, v *view) {
	var page bytes.Buffer
	if err := c.pages.ExecuteTemplate(&page, "page", v); err != nil {
		c.logger().Error("httplimit: the operators' page could not be made", "page", v.Page, "error", err)
		answerText(w, http.StatusInternalServerError, "This page could not be made. The log says why.")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes())
}

func (c *Console) serveOverview(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "overview", "Overview")
	v.Live = "events?view=overview"
	c.serve(w, http.StatusOK, v)
}

func (c *Console) serveStores(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "stores", "Stores")
	v.Live = "events?view=stores"
	c.serve(w, http.StatusOK, v)
}

func (c *Console) serveConfig(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "config", "Configuration")
	v.Live, v.Configs = "events?view=other", c.configTexts(v.O)
	c.serve(w, http.StatusOK, v)
}

func (c *Console) serveActivity(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "activity", "Activity")
	v.Live, v.Activities = "events?view=activity", c.acts.list()
	c.serve(w, http.StatusOK, v)
}

func (c *Console) serveClients(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "clients", "Clients")
	v.Live, v.Shapes = "events?view=other", v.O.watch.shapes()
	c.serve(w, http.StatusOK, v)
}

func (c *Console) serveRule(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	v := c.newView(r, "rule", "Rule")
	if v.Rule = v.O.rulePage(id); v.Rule == nil {
		answerText(w, http.StatusNotFound, "There is no such rule.")
		return
	}
	v.Title, v.Live = v.Rule.Row.Name, "events?view=rule&id="+url.QueryEscape(id)
	c.serve(w, http.StatusOK, v)
}

func (c *Console) serveClient(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "client", "A client")
	q, err := c.queryOf(r, v.O.watch)
	if err != nil {
		c.serveAgain(w, r, err)
		return
	}
	c.serveFound(w, r, v, q)
}

func (c *Console) serveFound(w http.ResponseWriter, r *http.Request, v *view, q query) {
	f := c.lookUp(r.Context(), v.O, q)
	v.Found, v.Shown, v.Live = &f, strings.Join(f.shown, " + "), "events?view=other"
	c.serve(w, http.StatusOK, v)
}

// serveAgain has a client looked up anew.
func (c *Console) serveAgain(w http.ResponseWriter, r *http.Request, err error) {
	v := c.newView(r, "client", "A client")
	v.Shown, v.Message = "Nobody was found", &message{"bad", err.Error()}
	c.serve(w, http.StatusBadRequest, v)
}

func (c *Console) serveReset(w http.ResponseWriter, r *http.Request) {
	v := c.newView(r, "client", "A client")
	q, err := c.queryOf(r, v.O.watch)
	if err != nil {
		c.serveAgain(w, r, err)
		return
	}
	if err := c.reset(r.Context(), v.Operator, q); err != nil {
		v.Message = &message{"bad", "It may not have been reset: " + clip(err.Error())}
	} else {
		v.Message = &message{"good", "Reset by " + v.Operator + " at " + time.Now().Format("15:04:05") +
			". The next request passes; other processes may refuse for a second more."}
	}
	c.serveFound(w, r, v, q)
}

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
	p := &rulePage{O: o, Near: []client{}, Middlewares: len(r.configs)}
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
		p.Refused = o.clientsOf(r, &r.series.refused, topOfRule)
		p.Near = o.nearOf(r, topOfRule)
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

type shadowSum struct {
	Rules     int
	Now, Last uint64
}

type storeHealth struct{ All, Down, Degraded int }

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
		"effect":  effectOf,
		"mostOf":  func(l limiter.Limit) int64 { return mostOf(&l) },
		"wait":    waitText,
		"free":    freeText,
		"source":  sourceText,
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

// mostly returns the rule that refuses most now, nil if none refuses anything.
func (o *overview) mostly() *ruleRow {
	var most *ruleRow
	for _, row := range o.Rules {
		if row.Now.Turned() > 0 && (most == nil || row.Now.Turned() > most.Now.Turned()) {
			most = row
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

func freeText(d time.Duration) string {
	switch {
	case d <= 0:
		return "it is"
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
