// Package examples_test builds the examples and runs them as their readers do: from the root of the repository, until
// an interrupt ends them.
package examples_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/httplimit/httplimit/examples/internal/send"
)

func TestExamples(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no interrupt that one process could send to another")
	}
	folder := build(t)
	limits := filepath.Join(t.TempDir(), "policy.json")
	write(t, limits, apiPolicy("7/m"))
	tests := map[string]struct {
		flags []string
		talk  func(t *testing.T, p *process)
	}{
		"quickstart":  {talk: quickstart},
		"perroute":    {talk: perroute},
		"behindproxy": {talk: behindproxy, flags: []string{"-backend", "127.0.0.1:0"}},
		"login":       {talk: login, flags: []string{"-operators", "127.0.0.1:0"}},
		"tiers":       {talk: tiers},
		"tokens":      {talk: tokens},
		"reload":      {talk: reload(limits), flags: []string{"-policy", limits, "-every", "10ms"}},
		"testing":     {talk: signUp},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t, filepath.Join(folder, name), append(tt.flags, "-addr", "127.0.0.1:0")...)
			tt.talk(t, p)
			p.interrupt(t)
		})
	}
}

func quickstart(t *testing.T, p *process) {
	window := func() int64 { return time.Now().UnixMilli() / 10_000 }
	began := window()
	for i := range 5 {
		a := p.get(t, "/", "")
		checkStatus(t, a, http.StatusOK)
		checkField(t, a, "RateLimit-Policy", `"ip";q=5;w=10`)
		if got := send.Text(t, a); got != "hello\n" {
			t.Errorf("request %d: got %q, want hello", i+1, got)
		}
		if window() == began {
			checkField(t, a, "RateLimit", fmt.Sprintf(`"ip";r=%d;t=`, 4-i))
		}
	}
	refusal := p.get(t, "/", "")
	for refusal.StatusCode == http.StatusOK && window() != began { // after a window boundary some more pass
		refusal = p.get(t, "/", "")
	}
	checkStatus(t, refusal, http.StatusTooManyRequests)
	checkField(t, refusal, "RateLimit-Policy", `"ip";q=5;w=10`)
	checkField(t, refusal, "RateLimit", `"ip";r=0;t=`+refusal.Header.Get("Retry-After"))
	checkField(t, refusal, "Cache-Control", "no-store")
	checkField(t, refusal, "Content-Type", "application/problem+json")
	// No unit counts for longer than two windows.
	if wait, err := strconv.Atoi(refusal.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 20 {
		t.Errorf("Retry-After: got %q, want 1 to 20", refusal.Header.Get("Retry-After"))
	}
	if got := send.Text(t, refusal); !strings.Contains(got, `"violated-policies":["ip"]`) {
		t.Errorf("the refusal: got %s, want it to name the rule", got)
	}
}

func perroute(t *testing.T, p *process) {
	a := p.get(t, "/search?q=go", "")
	checkStatus(t, a, http.StatusOK)
	checkField(t, a, "RateLimit", `"client";r=`)
}

func behindproxy(t *testing.T, p *process) {
	a := p.get(t, "/", "")
	checkStatus(t, a, http.StatusOK)
	checkField(t, a, "RateLimit-Policy", `"ip";q=5;w=10`)
}

func login(t *testing.T, p *process) {
	for password, want := range map[string]int{"guess": http.StatusForbidden, "correct horse": http.StatusOK} {
		a, err := http.PostForm(p.url+"/login", url.Values{"user": {"ann"}, "password": {password}})
		if err != nil {
			t.Fatal(err)
		}
		checkStatus(t, a, want)
		send.Text(t, a)
	}
}

func tiers(t *testing.T, p *process) {
	checkStatus(t, p.get(t, "/", "guess"), http.StatusUnauthorized)
	checkStatus(t, p.get(t, "/", "initech-key"), http.StatusOK)
}

func tokens(t *testing.T, p *process) {
	a := p.get(t, "/complete?prompt=hello", "")
	checkStatus(t, a, http.StatusOK)
	if got := send.Text(t, a); !strings.Contains(got, `"spent":13`) {
		t.Errorf("the answer: got %s, want 13 tokens spent", got)
	}
}

func signUp(t *testing.T, p *process) {
	a, err := http.Post(p.url+"/signup", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	checkStatus(t, a, http.StatusCreated)
	checkField(t, a, "RateLimit-Policy", `"signup";q=3;w=3600`)
	send.Text(t, a)
}

// apiPolicy is a policy of one rule.
func apiPolicy(limit string) string {
	return `{"rules": [{"name": "api", "key": "ip", "limit": "` + limit + `"}]}`
}

func reload(file string) func(t *testing.T, p *process) {
	hangUp := func(t *testing.T, p *process) {
		t.Helper()
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	return func(t *testing.T, p *process) {
		check := func(policy string) { t.Helper(); checkField(t, p.get(t, "/", ""), "RateLimit-Policy", policy) }
		check(`"api";q=7;w=60`)
		write(t, file, apiPolicy("8/m"))
		p.await(t, "the new policy is in force, with 1 rules") // without being told
		check(`"api";q=8;w=60`)
		write(t, file, `{"rules": [`+"\n"+`{"name": "api", "key": "name:user", "limit": "9"}]}`)
		p.await(t, file+`:2:46: rules[0] "api".limit: cannot read limit "9"`)
		check(`"api";q=8;w=60`)
		hangUp(t, p)
		p.await(t, "the old policy stays in force")
		check(`"api";q=8;w=60`)
		write(t, file, apiPolicy("9/m"))
		hangUp(t, p)
		p.await(t, "the new policy is in force")
		check(`"api";q=9;w=60`)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func checkStatus(t *testing.T, a *http.Response, want int) {
	t.Helper()
	if a.StatusCode != want {
		t.Errorf("%s: got %d, want %d", a.Request.URL.Path, a.StatusCode, want)
	}
}

func checkField(t *testing.T, a *http.Response, name, want string) {
	t.Helper()
	if got := strings.Join(a.Header.Values(name), ", "); !strings.HasPrefix(got, want) {
		t.Errorf("%s: got %s, want %s", name, got, want)
	}
}
