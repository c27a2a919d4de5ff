package replay_test

import (
	"strings"
	"testing"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
)

func TestPeopleAndBots(t *testing.T) {
	const person = "Mozilla/5.0 (X11; Linux x86_64) Firefox/120.0"
	uneven := []int64{0, 1, 2, 40, 41, 45, 300, 301, 900, 905, 910, 2000}
	even := []int64{0, 60, 120, 181, 240, 300, 361, 420, 480, 540, 601, 660}
	for name, c := range map[string]struct {
		at     []int64 // seconds
		path   string
		status int
		agent  string
		want   string
	}{
		"a person": {at: uneven, path: "/", status: 200, agent: person},
		"it says so": {at: uneven, path: "/", status: 200, agent: "Mozilla/5.0 (compatible; bingbot/2.0)",
			want: "declares itself"},
		"a library": {at: uneven[:2], path: "/", status: 200, agent: "Go-http-client/1.1",
			want: "declares itself"},
		"a make of telephones": {at: uneven, path: "/", status: 200, agent: "Mozilla/5.0 (Linux; Android 9; CUBOT X19)"},
		"no agent":             {at: uneven, path: "/", status: 200, agent: "-", want: "no user agent"},
		"robots.txt":           {at: uneven, path: "/robots.txt?x", status: 200, agent: person, want: "asked for robots.txt"},
		"errors":               {at: uneven, path: "/wp-login.php", status: 404, agent: person, want: "over half 4xx"},
		"few errors":           {at: uneven[:3], path: "/missing", status: 404, agent: person},
		"limited":              {at: uneven, path: "/", status: 429, agent: person},
		"even gaps":            {at: even, path: "/", status: 200, agent: person, want: "even gaps"},
		"few even gaps":        {at: even[:8], path: "/", status: 200, agent: person},
	} {
		var log strings.Builder
		log.WriteString(combinedLine("198.51.100.9", monday, "GET / HTTP/1.1", 200, person)) // so that the log tells agents
		for _, at := range c.at {
			log.WriteString(combinedLine("192.0.2.1", monday+at*1000, "GET "+c.path+" HTTP/1.1", c.status, c.agent))
		}
		_, data := run(t, policyOf(byAddress("rule", "100/m")), replay.Options{}, "", log.String())
		got := ""
		for _, sign := range data.Input.Bots {
			got = sign.Why
		}
		if got != c.want {
			t.Errorf("%s: the sign of a bot is %q, want %q", name, got, c.want)
		}
	}
}
