package browser

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

//go:embed checks.js
var script string

// checks is an expression whose value is an object with a function for each check.
var checks = "(" + strings.TrimSpace(script) + ")"

// LowContrast names the visible texts that stand out too little against their background (WCAG 2.2, 1.4.3: 4.5 to 1,
// large ones 3 to 1), and of what the CSS selector graphics finds, the shapes (1.4.11: 3 to 1). "" leaves shapes out.
func (p *Page) LowContrast(t testing.TB, graphics string) (faults []string) {
	t.Helper()
	return Eval[[]string](t, p, fmt.Sprintf("%s.lowContrast(%q)", checks, graphics))
}

// Cut names what sticks out of the page's width without a scroll bar of its own, and texts of less than 9 pixels.
func (p *Page) Cut(t testing.TB) (faults []string) {
	t.Helper()
	return Eval[[]string](t, p, checks+".cut()")
}

// Nameless names what a screen reader could not: links, buttons, fields, regions and pictures without a name, tables
// without a caption, headings that skip a level, ids that occur twice, references to none.
func (p *Page) Nameless(t testing.TB) (faults []string) {
	t.Helper()
	return Eval[[]string](t, p, checks+".nameless()")
}

// Focus is where the keyboard is.
type Focus struct {
	Name    string // tag, id, beginning of its text
	Index   int    // in the order of the document, among all that can take the focus
	Visible bool   // it is on the screen, and something marks it
}

// FocusOrder presses Tab until the focus comes back to where it began, and returns where it was, and how many elements
// can take it. It fails the test after 1,000 steps.
func (p *Page) FocusOrder(t testing.TB) (order []Focus, all int) {
	t.Helper()
	all = Eval[int](t, p, checks+".focusable().length")
	for range 1000 {
		p.Press(t, kb.Tab)
		at := Eval[Focus](t, p, checks+".focus()")
		if at.Index < 0 || len(order) > 0 && at.Index == order[0].Index {
			return order, all
		}
		order = append(order, at)
	}
	t.Fatalf("browser: the focus does not come back; it was at %v", order[:10])
	return nil, 0
}
