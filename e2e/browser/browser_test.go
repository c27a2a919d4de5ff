package browser_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/e2e/browser"
)

// bad has one fault of each kind that this package finds.
const bad = `<!DOCTYPE html><html><head><title></title><style>
	body { background: #fff; color: #000; width: 2000px } #pale { color: #999 } #small { font-size: 8px }
	a:focus { outline: none } #first { order: 2 } #second { order: 1 }
</style></head><body>
<p id="pale">pale</p><p id="small">small</p><p style="margin-left: 1900px">far to the right</p>
<svg width="100" height="20"><path id="palepath" d="M0 0h50v20h-50z" fill="#ddd"/></svg>
<table><tr><th>head</th></tr></table><h3>deep</h3><p id="twice"></p><p id="twice"></p><a href="#nowhere">x</a>
<a href="/" tabindex="2">second</a><a href="/" tabindex="1">first</a>
<img src="/missing.png"><script>console.error("said"); setTimeout(() => { throw new Error("thrown") })</script>
</body></html>`

func TestFaultsAreFound(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(bad))
	}))
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(t, server.URL+"/", browser.Look{Width: 400})
	order, _ := p.FocusOrder(t)
	for what, it := range map[string]struct {
		found []string
		want  []string
	}{
		"low contrast": {p.LowContrast(t, "path"), []string{"id=pale", "id=palepath"}},
		"cut off":      {p.Cut(t), []string{"the page is", "far to the right", "8.0 pixels"}},
		"nameless": {p.Nameless(t), []string{"no name: <svg", "no alt", "no caption", "no scope", "twice: twice",
			"no such id: nowhere", "skips a level", "no lang", "no title", "0 h1", "0 main"}},
		"axe":     {p.Axe(t), []string{"image-alt", "color-contrast", "document-title"}},
		"request": {p.Requests(), []string{"/missing.png"}},
		"fault":   {p.Faults(), []string{"said", "thrown", "404"}},
	} {
		for _, want := range it.want {
			if !slices.ContainsFunc(it.found, func(text string) bool { return strings.Contains(text, want) }) {
				t.Errorf("%s: got %q, want one with %q", what, it.found, want)
			}
		}
	}
	if len(order) == 0 || order[0].Index == 0 || order[0].Visible {
		t.Errorf("the keyboard goes %+v, want not from the first on, and unmarked", order)
	}
}
