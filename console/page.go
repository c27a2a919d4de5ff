package console

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"time"
)

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
	v.Nav = []link{
		{"./", "Overview", page == "overview" || page == "rule"},
		{"clients", "Clients", page == "clients" || page == "client"},
		{"stores", "Stores", page == "stores"},
		{"config", "Configuration", page == "config"},
		{"activity", "Activity", page == "activity"},
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
			", under " + q.ruleNames() + ". The next request passes there; other processes may refuse for a second more."}
	}
	c.serveFound(w, r, v, q)
}
