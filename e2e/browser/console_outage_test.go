package browser_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/console"
	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
)

func TestConsoleShowsAnOutageOfTheStore(t *testing.T) {
	t.Parallel()
	s := startServiceFor(t, console.LocalOnly, 500*time.Millisecond) // a store is down after two time-outs
	p := browser.Start(t).Open(t, s.url, browser.Look{})
	live(t, p)
	s.refuse(t, "alice", "/", 1)
	shows(t, p, "#figures", "all answer")
	s.redis.Kill(t)
	servers.Await(t, "the page names the server that does not answer", func() bool {
		s.request(t, "carol", "/login") // after a few failures the store is taken for down
		return strings.Contains(browser.Eval[string](t, p, `document.getElementById("banner").innerText`),
			s.redis.Addr()+" does not answer")
	})
	shows(t, p, "#figures", "1 of 1 down")
	s.redis.Restart(t)
	servers.Await(t, "a decision by the store", func() bool { return s.request(t, "carol", "/login") == http.StatusOK })
	servers.Await(t, "the problem is gone", func() bool {
		s.request(t, "carol", "/login") // a rule without requests is well after ten seconds only
		return browser.Eval[int](t, p, `document.querySelectorAll(".problems li").length`) == 0
	})
	shows(t, p, "#figures", "all answer")
	none(t, "fault", p.Faults())
	p.StaysWithin(t, s.url)
}

func TestConsoleReconnectsToARestartedService(t *testing.T) {
	t.Parallel()
	s := startService(t)
	p := browser.Start(t).Open(t, s.url, browser.Look{})
	live(t, p)
	s.refuse(t, "alice", "/", 1)
	shows(t, p, "#refused", "alice")
	s.stop()
	servers.Await(t, "the page says that it has no connection", func() bool { return liveState(t, p) == "lost" })
	shows(t, p, "#live-text", "no connection since")
	s.restart(t)
	live(t, p)
	s.refuse(t, "bob", "/", 1)
	shows(t, p, "#refused", "bob") // without a reload
}
