package console

import (
	"io"
	"net/http"
	"path"
	"strings"
)

// action answers one kind of request of somebody who may look.
type action struct {
	methods string // "GET" or "POST"
	serve   func(c *Console, w http.ResponseWriter, r *http.Request)
	asks    bool // it asks the stores, so it has limits of its own
	changes bool // it needs an operator
	plain   bool // it is a file, which costs nothing
}

// actions are found by the end of the path, so that the Console needs not know under which path it is mounted, nor what
// a proxy strips of it. All pages stand in one folder, and their links are relative: they work under any prefix.
var actions = map[string]action{
	"":                  {methods: http.MethodGet, serve: (*Console).serveOverview},
	"rule":              {methods: http.MethodGet, serve: (*Console).serveRule},
	"stores":            {methods: http.MethodGet, serve: (*Console).serveStores},
	"config":            {methods: http.MethodGet, serve: (*Console).serveConfig},
	"activity":          {methods: http.MethodGet, serve: (*Console).serveActivity},
	"clients":           {methods: http.MethodGet, serve: (*Console).serveClients},
	"client":            {methods: http.MethodPost, serve: (*Console).serveClient, asks: true},
	"reset":             {methods: http.MethodPost, serve: (*Console).serveReset, asks: true, changes: true},
	"events":            {methods: http.MethodGet, serve: (*Console).serveEvents},
	"page.js":           {methods: http.MethodGet, serve: (*Console).serveFile, plain: true},
	"style.css":         {methods: http.MethodGet, serve: (*Console).serveFile, plain: true},
	"icon.svg":          {methods: http.MethodGet, serve: (*Console).serveFile, plain: true},
	"api/overview.json": {methods: http.MethodGet, serve: (*Console).apiOverview},
	"api/rule.json":     {methods: http.MethodGet, serve: (*Console).apiRule},
	"api/stores.json":   {methods: http.MethodGet, serve: (*Console).apiStores},
	"api/config.json":   {methods: http.MethodGet, serve: (*Console).apiConfig},
	"api/activity.json": {methods: http.MethodGet, serve: (*Console).apiActivity},
	"api/client.json":   {methods: http.MethodPost, serve: (*Console).apiClient, asks: true},
	"api/reset.json":    {methods: http.MethodPost, serve: (*Console).apiReset, asks: true, changes: true},
}

// ServeHTTP answers viewers and operators, and everybody else with 403 and nothing.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.started.IsZero() || !c.mayLook(r) || c.protect.Check(r) != nil || fetchedByOthers(r) {
		forbid(w)
		return
	}
	setSafe(w.Header())
	if toFolder(w, r) {
		return
	}
	a, found := actions[endOf(r.URL.Path)]
	if !found {
		answerText(w, http.StatusNotFound, "There is no such page.")
		return
	}
	if r.Method != a.methods && (r.Method != http.MethodHead || a.methods != http.MethodGet) {
		w.Header().Set("Allow", a.methods)
		answerText(w, http.StatusMethodNotAllowed, "This page wants "+a.methods+".")
		return
	}
	operator, operates := c.operator(r)
	if a.changes && !operates {
		forbid(w)
		return
	}
	if a.plain || c.own.admit(w, r, viewerOf(r, operator), a.asks) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		a.serve(c, w, r)
	}
}

// fetchedByOthers reports whether the script or the markup of another site asks, in the name of a viewer who has that
// site open. It could read nothing of the answer, but take the places of viewers and use up the page's own limit. Links
// from other sites are followed.
func fetchedByOthers(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// maxBody is far above what a form with a few identities needs.
const maxBody = 64 << 10

// mayLook reports whether r comes from somebody who may see the page.
func (c *Console) mayLook(r *http.Request) bool {
	if c.cfg.Viewer != nil {
		return c.cfg.Viewer(r)
	}
	_, ok := c.operator(r)
	return ok
}

// operator returns the name of the operator who sent r.
func (c *Console) operator(r *http.Request) (name string, ok bool) {
	if c.cfg.Operator == nil {
		return "", false
	}
	if name, ok = c.cfg.Operator(r); !ok {
		return "", false
	}
	if name = clip(printable(name)); name == "" {
		name = "somebody without a name"
	}
	return name, true
}

func forbid(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusForbidden)
}

// setSafe sets what keeps a page from being framed, cached, mistaken for another type, or made to run or fetch anything
// that is not ours. The referrer policy is the strictest under which browsers still tell the origin of a form.
func setSafe(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// toFolder sends a browser from a path without the slash at its end to the one with it, where relative links work.
// http.StripPrefix leaves nothing of such a path.
func toFolder(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "" {
		return false
	}
	asked, _, _ := strings.Cut(r.RequestURI, "?")
	name := path.Base(asked)
	if name == "/" || name == "." || name == ".." || strings.ContainsAny(name, "\\:") {
		answerText(w, http.StatusNotFound, "There is no such page.")
		return true
	}
	w.Header().Set("Location", "./"+name+"/")
	w.WriteHeader(http.StatusMovedPermanently)
	return true
}

// endOf returns the end of a path that says what is wanted. A path that is not clean has none that is known.
func endOf(p string) string {
	if strings.Contains(p, "..") || strings.Contains(p, "//") || strings.ContainsAny(p, "\\\x00") {
		return "?"
	}
	folder, name := path.Split(p)
	if strings.HasSuffix(name, ".json") && strings.HasSuffix(folder, "/api/") || folder == "api/" {
		return "api/" + name
	}
	return name
}

func answerText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}
