package browser_test

import (
	"slices"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
)

// noteStates has a page note what it says of its connection from now on.
const noteStates = `globalThis.states = [], new MutationObserver(() => {
	if (states.at(-1) !== document.getElementById("live").dataset.state) {
		states.push(document.getElementById("live").dataset.state);
	}
}).observe(document.getElementById("live"), {attributes: true}), true`

// Over HTTP/1.1 a browser opens six connections to a host, and a stream takes one. Pages that nobody sees have none, so
// that any number of tabs can be open.
func TestConsoleInManyTabs(t *testing.T) {
	t.Parallel()
	s, chromium := startService(t), browser.Start(t)
	var tabs []*browser.Page
	for i := range 8 {
		p := chromium.Open(t, s.url, browser.Look{SharesWindow: i > 0})
		live(t, p)
		browser.Eval[bool](t, p, noteStates)
		tabs = append(tabs, p)
	}
	servers.Await(t, "one stream, that of the tab in front", func() bool { return s.streams.Load() == 1 })
	for i, p := range tabs[:7] {
		if got := liveState(t, p); got != "paused" {
			t.Errorf("tab %d, which is hidden, says that it is %s, want paused", i, got)
		}
	}
	s.refuse(t, "alice", "/", 1)
	shows(t, tabs[7], "#refused", "alice")

	tabs[0].Front(t)
	began := time.Now()
	shows(t, tabs[0], "#refused", "alice") // without a reload
	t.Logf("a tab that comes back shows what has happened after %v", time.Since(began))
	live(t, tabs[0])
	if got := browser.Eval[[]string](t, tabs[0], `states`); !slices.Equal(got, []string{"paused", "live"}) {
		t.Errorf("it went through the states %q, want paused and live", got)
	}
	servers.Await(t, "one stream, that of the tab that came back", func() bool { return s.streams.Load() == 1 })
	for _, p := range tabs {
		none(t, "fault", p.Faults())
	}
}
