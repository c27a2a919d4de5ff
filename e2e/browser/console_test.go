package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
)

// shows waits until the text of what a CSS selector finds has the words.
func shows(t *testing.T, p *browser.Page, selector, words string) {
	t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.innerText).join(" ")`, selector)
	servers.Await(t, selector+" shows "+words, func() bool {
		return strings.Contains(browser.Eval[string](t, p, find), words)
	})
}

// live waits until the page moves.
func live(t *testing.T, p *browser.Page) {
	t.Helper()
	servers.Await(t, "the page is live", func() bool { return liveState(t, p) == "live" })
}

func liveState(t *testing.T, p *browser.Page) string {
	t.Helper()
	return browser.Eval[string](t, p, `document.getElementById("live").dataset.state`)
}

// tabTo presses Tab until the focus is on the first element that a JavaScript condition on e holds for.
func tabTo(t *testing.T, p *browser.Page, condition string) {
	t.Helper()
	for range 200 {
		p.Press(t, kb.Tab)
		if browser.Eval[bool](t, p, fmt.Sprintf(`(e => %s)(document.activeElement)`, condition)) {
			return
		}
	}
	t.Fatalf("200 times Tab do not lead to %s", condition)
}

// follow presses Enter and waits for the page whose title begins so.
func follow(t *testing.T, p *browser.Page, title string) {
	t.Helper()
	browser.Eval[bool](t, p, `document.body.dataset.before = "yes", true`)
	p.Press(t, kb.Enter)
	servers.Await(t, "the page "+title, func() bool {
		return browser.Eval[bool](t, p, fmt.Sprintf(
			`document.readyState === "complete" && !document.body.dataset.before && document.title.startsWith(%q)`, title))
	})
}

func TestOperatorFindsAndResetsWithTheKeyboard(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := browser.Start(t).Open(t, s.url, browser.Look{})
	live(t, p)
	shows(t, p, "#refused", "Nobody has been refused")
	s.refuse(t, "alice", "/", 5)
	shows(t, p, "#refused", "alice") // without a reload
	shows(t, p, "#figures", "orders")

	tabTo(t, p, `e.innerText === "Clients"`)
	follow(t, p, "Clients")
	tabTo(t, p, `e.name === "part"`)
	p.Press(t, strings.Split("alice", "")...)
	follow(t, p, "A client")
	shows(t, p, "h1", "alice")
	shows(t, p, ".standing.refused h2", "orders")
	shows(t, p, ".standing.allowed h2", "login")
	if at := p.URL(t); strings.Contains(at, "alice") {
		t.Errorf("the client stands in the address: %s", at)
	}
	tabTo(t, p, `e.innerText.replace(/\s+/g, " ") === "Reset under orders"`)
	follow(t, p, "A client")
	shows(t, p, ".message.good", "Reset by alice")
	if got := s.request(t, "alice", "/"); got != http.StatusOK {
		t.Errorf("the next request is answered %d, want 200", got)
	}
	tabTo(t, p, `e.innerText === "Activity"`)
	follow(t, p, "Activity")
	shows(t, p, "#activity", "orders")
	none(t, "fault", p.Faults())
	p.StaysWithin(t, s.url)
}

func TestOperatorLiftsABan(t *testing.T) {
	t.Parallel()
	s := startService(t)
	s.refuse(t, "bob", "/login", 6)
	p := browser.Start(t).Open(t, s.url, browser.Look{})
	shows(t, p, "#refused", "bob")
	tabTo(t, p, `e.innerText === "bob"`)
	follow(t, p, "A client")
	shows(t, p, ".standing.banned", "Banned until")
	tabTo(t, p, `e.innerText.startsWith("Lift the ban")`)
	follow(t, p, "A client")
	shows(t, p, ".standing.allowed h2", "login")
	if got := s.request(t, "bob", "/login"); got != http.StatusOK {
		t.Errorf("the next request is answered %d, want 200", got)
	}
	none(t, "fault", p.Faults())
	p.StaysWithin(t, s.url)
}
