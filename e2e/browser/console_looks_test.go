package browser_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
)

// consolePages are the pages that have an address, and words that each of them has to show.
var consolePages = map[string]string{
	"": "alice", "clients": "X-Customer", "stores": "counters", "config": "orders", "activity": "Activity",
}

// rulePage returns the address of the page of a rule.
func rulePage(t *testing.T, p *browser.Page, rule string) string {
	t.Helper()
	return browser.Eval[string](t, p, fmt.Sprintf(
		`[...document.querySelectorAll("#rules a")].find(e => e.innerText === %q).href`, rule))
}

// busyService has refused somebody by each of its rules.
func busyService(t *testing.T) *service {
	t.Helper()
	s := startService(t)
	s.refuse(t, "alice", "/", 3)
	s.refuse(t, "bob of a company with quite a long name and a department at 203.0.113.7", "/login", 4)
	return s
}

func TestConsoleWithoutScripts(t *testing.T) {
	t.Parallel()
	s, chromium := busyService(t), browser.Start(t)
	for page, words := range consolePages {
		p := chromium.Open(t, s.url+page, browser.Look{NoScripts: true})
		shows(t, p, "main", words)
		shows(t, p, "#live", "reload")
		none(t, "fault", p.Faults())
		p.Close()
	}
	p := chromium.Open(t, s.url, browser.Look{NoScripts: true})
	shows(t, p, "#rules", "login")
	tabTo(t, p, `e.innerText === "alice"`)
	follow(t, p, "A client")
	shows(t, p, ".standing.refused h2", "orders")
	none(t, "cut off", p.Cut(t))
	none(t, "fault", p.Faults())
}

// consoleLook is one way to look at the pages; colours do not depend on the width.
type consoleLook struct {
	width int64
	dark  bool
}

func TestConsoleLooks(t *testing.T) {
	t.Parallel()
	s, chromium := busyService(t), browser.Start(t)
	for _, look := range []consoleLook{{375, false}, {1024, false}, {1024, true}, {1600, false}} {
		t.Run(fmt.Sprintf("%d/dark=%v", look.width, look.dark), func(t *testing.T) {
			open := func(page string) *browser.Page {
				p := chromium.Open(t, s.url+page, browser.Look{Width: look.width, Dark: look.dark})
				live(t, p)
				return p
			}
			for page, words := range consolePages {
				p := open(page)
				shows(t, p, "main", words)
				fine(t, p, s, fmt.Sprintf("console-%s-%d-dark=%v", page, look.width, look.dark))
				p.Close()
			}
			p := open("")
			rule, err := url.Parse(rulePage(t, p, "login"))
			if err != nil {
				t.Fatal(err)
			}
			of := open("rule?" + rule.RawQuery)
			fine(t, of, s, fmt.Sprintf("console-rule-%d-dark=%v", look.width, look.dark))
			of.Close()
			tabTo(t, p, `e.innerText.startsWith("bob")`)
			follow(t, p, "A client")
			fine(t, p, s, fmt.Sprintf("console-client-%d-dark=%v", look.width, look.dark))
			p.Close()
		})
	}
}

// fine checks what has to hold for every page.
func fine(t *testing.T, p *browser.Page, s *service, name string) {
	t.Helper()
	p.Screenshot(t, name)
	for what, found := range map[string][]string{
		"low contrast": p.LowContrast(t, ""), "cut off": p.Cut(t), "axe": p.Axe(t), "fault": p.Faults(),
	} {
		none(t, name+": "+what, found)
	}
	p.StaysWithin(t, s.url)
}

// Two Middlewares that count in one store are told apart, and the store is there once.
func TestConsoleOfTwoMiddlewaresAndOneStore(t *testing.T) {
	t.Parallel()
	s := busyService(t)
	p := browser.Start(t).Open(t, s.url+"stores", browser.Look{})
	servers.Await(t, "one store", func() bool {
		return browser.Eval[int](t, p, `document.querySelectorAll("section.store").length`) == 1
	})
	shows(t, p, "section.store h2", "login")
	shows(t, p, "section.store h2", "orders")
}
