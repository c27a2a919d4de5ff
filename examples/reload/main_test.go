package main

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/examples/internal/send"
)

// write replaces the file as a whole, as those who change a policy should: nobody reads a half of it.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// one is a policy of one rule.
func one(limit, more string) string {
	return `{"rules": [{"name": "api", "key": "ip", "limit": "` + limit + `"` + more + "}]}"
}

// start returns a reloader of a file with the text, and what it logs.
func start(t *testing.T, text string) (*reloader, *bytes.Buffer) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.json")
	write(t, file, text)
	r, err := newReloader(file)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	log.SetOutput(&logged)
	log.SetFlags(0)
	t.Cleanup(func() { log.SetOutput(os.Stderr); log.SetFlags(log.LstdFlags) })
	return r, &logged
}

// check sends a request and wants the answer's status and the beginning of its RateLimit field.
func check(t *testing.T, r *reloader, path, key string, status int, field string) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("X-API-Key", key)
	w := send.To(r.middleware.Handler(http.HandlerFunc(serve)), request)
	if got := w.Header().Get("RateLimit"); w.Code != status || !strings.HasPrefix(got, field) {
		t.Errorf("GET %s: got %d %s, want %d %s...", path, w.Code, got, status, field)
	}
}

func TestReloadKeepsWhatWasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := start(t, one("3/m", ""))
		for range 3 {
			check(t, r, "/", "", http.StatusOK, `"api";r=`)
		}
		check(t, r, "/", "", http.StatusTooManyRequests, `"api";r=0;`)
		write(t, r.file, one("5/m", ""))
		check(t, r, "/", "", http.StatusTooManyRequests, `"api";r=0;`) // the process does not know yet
		r.reload()
		check(t, r, "/", "", http.StatusOK, `"api";r=1;`)
	})
}

// TestChangesAreSeen: each once, by a look at the file or by a signal.
func TestChangesAreSeen(t *testing.T) {
	r, logged := start(t, one("3/m", ""))
	ctx, stop := context.WithCancel(t.Context())
	signals, ticks, ended := make(chan os.Signal), make(chan time.Time), make(chan struct{})
	go func() { r.run(ctx, signals, ticks); close(ended) }()
	const inForce, faulty = "reload: the new policy is in force", "reload: the old policy stays in force"
	tick := func() { ticks <- time.Time{}; ticks <- time.Time{} } // the second is taken when the first has been dealt with
	for _, step := range []struct {
		does func()
		want []string
	}{
		{tick, nil},
		{func() { write(t, r.file, one("4/m", "")); tick() }, []string{inForce}},
		{tick, nil},
		{func() { write(t, r.file, one("4/w", "")); tick() }, []string{faulty, r.file + ":1:50: rules[0] \"api\".limit"}},
		{tick, nil}, // it has been told
		{func() { signals <- os.Interrupt; tick() }, []string{faulty, r.file + ":1:50: rules[0] \"api\".limit"}},
		{func() { _ = os.Remove(r.file); tick() }, nil},
		{func() { write(t, r.file, one("5/m", "")); tick() }, []string{inForce}},
	} {
		logged.Reset()
		step.does()
		lines := strings.FieldsFunc(logged.String(), func(c rune) bool { return c == '\n' })
		if len(lines) != len(step.want) {
			t.Errorf("got %q, want %q", lines, step.want)
			continue
		}
		for i, want := range step.want {
			if !strings.HasPrefix(lines[i], want) {
				t.Errorf("got %q, want %q", lines[i], want)
			}
		}
	}
	stop()
	<-ended
	check(t, r, "/", "", http.StatusOK, `"api";r=4;`)
}

// TestBadFileChangesNothing: all of its faults are told, those of the text and those of the names.
func TestBadFileChangesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []string // behind the name of the file, a line each
	}{
		"cut off":  {`{"rules": [`, []string{":1:11: it is not JSON: unexpected end of JSON input"}},
		"empty":    {``, []string{":1:1: it is empty, want a policy"}},
		"no rules": {`{}`, []string{":1:1: rules: it is missing"}},
		"all at once": {one("1/367d", ",\n\"whn\": [], \"cost\": 0"), []string{
			`:1:50: rules[0] "api".limit: cannot read limit "1/367d"`, `:2:1: rules[0] "api": there is no "whn" here`,
			`:2:20: rules[0] "api".cost: it is 0`}},
		"names": {one("1/m", `, "when": ["name:office"],`+"\n"+`"noKey": "name:user"`), []string{
			`:1:66: rules[0] "api".when[0]: the program has no "office"`,
			`:2:10: rules[0] "api".noKey: the program has no "user"`}},
	} {
		t.Run(name, func(t *testing.T) {
			r, logged := start(t, one("3/m", ""))
			write(t, r.file, tt.text)
			r.reload()
			lines := strings.Split(strings.TrimSpace(logged.String()), "\n")[1:]
			if len(lines) != len(tt.want) {
				t.Fatalf("got %q, want %q", lines, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], r.file+want) {
					t.Errorf("fault %d: got %s, want %s", i+1, lines[i], want)
				}
			}
			check(t, r, "/", "", http.StatusOK, `"api";r=2;`)
			if _, err := newReloader(r.file); err == nil {
				t.Error("a service would start with it")
			}
		})
	}
}

// TestPolicyOfTheExample: by plan, and failed logins.
func TestPolicyOfTheExample(t *testing.T) {
	r, err := newReloader("policy.json")
	if err != nil {
		t.Fatal(err)
	}
	check(t, r, "/search", "", http.StatusOK, `"api";r=99;t=`)
	for key, field := range map[string]string{
		"initech-key": `"search";q=200;w=60`, "hooli-key": `"search";q=20;w=60`, "guess": `"search";q=20;w=60`,
	} {
		request := httptest.NewRequest(http.MethodGet, "/search", nil)
		request.Header.Set("X-API-Key", key)
		w := send.To(r.middleware.Handler(http.HandlerFunc(serve)), request)
		if got := w.Header().Get("RateLimit-Policy"); !strings.Contains(got, field) {
			t.Errorf("%s: got %s, want %s in it", key, got, field)
		}
	}
	for i := range 6 {
		want := http.StatusUnauthorized
		if i == 5 {
			want = http.StatusTooManyRequests
		}
		w := send.To(r.middleware.Handler(http.HandlerFunc(serve)), httptest.NewRequest(http.MethodPost, "/login", nil))
		if w.Code != want {
			t.Errorf("login %d: got %d, want %d", i+1, w.Code, want)
		}
	}
}
