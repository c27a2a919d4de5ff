package browser

import (
	_ "embed"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe.min.js
var axe string

// Axe names what axe-core finds against WCAG 2.2, levels A and AA, and against its own best practices. It is run beside
// the page's own scripts, whatever the page's policy lets in.
func (p *Page) Axe(t testing.TB) (faults []string) {
	t.Helper()
	Eval[bool](t, p, axe+"; true")
	return Get(t, p, chromedp.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"]}).then(found =>
		found.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200))))`,
		chromedp.EvalAwaitPromise))
}
