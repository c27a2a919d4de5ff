package readme_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// TestScripts runs what docs/headers.md gives to clients in JavaScript, against a server that refuses the second
// request.
func TestScripts(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	page, err := os.ReadFile("../../docs/headers.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, block := range strings.Split(string(page), "```js\n")[1:] {
		code, _, _ := strings.Cut(block, "```")
		script.WriteString(code)
	}
	script.WriteString(`
const first = await fetch(process.argv[2]), second = await fetchPatiently(process.argv[2], {}, 1);
console.log(JSON.stringify([first.status, rateLimits(first), second.status, rateLimits(second)]));
`)
	file := filepath.Join(t.TempDir(), "page.mjs")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{Rules: []httplimit.Rule{
		{Name: `a "b"`, Key: httplimit.Everyone(), Limit: limiter.Limit{
			Requests: 1, Window: 24 * time.Hour, Algorithm: limiter.SlidingLog,
		}},
		{Name: "wide", Key: httplimit.Everyone(), Limit: limiter.Limit{
			Requests: 100, Window: 24 * time.Hour, Algorithm: limiter.SlidingLog,
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m.Handler(http.NotFoundHandler()))
	t.Cleanup(server.Close)
	got, err := exec.CommandContext(t.Context(), node, file, server.URL).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`[404,[{"policy":"a \"b\"","remaining":0,"reset":86400},{"policy":"wide","remaining":99,"reset":86400}],429,`,
		`429,[{"policy":"a \"b\"","remaining":0,"reset":86`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("got %s, want it to have %s", got, want)
		}
	}
}
