package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/examples/internal/send"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start returns a limiter that is configured by a file with the text.
func start(t *testing.T, text string) (limit *httplimit.Middleware, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "limits.json")
	write(t, file, text)
	cfg, err := config(file)
	if err != nil {
		t.Fatal(err)
	}
	limit, err = httplimit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return limit, file
}

// get returns the status and the RateLimit field of one request.
func get(limit *httplimit.Middleware, path string) (int, string) {
	w := send.To(limit.Handler(http.HandlerFunc(greet)), httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Header().Get("RateLimit")
}

func check(t *testing.T, limit *httplimit.Middleware, path string, status int, field string) {
	t.Helper()
	if gotStatus, got := get(limit, path); gotStatus != status || !strings.HasPrefix(got, field) {
		t.Errorf("GET %s: got %d %s, want %d %s...", path, gotStatus, got, status, field)
	}
}

func TestFileSetsLimitsAndGoTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, _ := start(t, `{"api":"100/m"}`)
		check(t, limit, "/", http.StatusOK, `"api";r=99;`)
		check(t, limit, "/search", http.StatusOK, `"api";r=98;t=91, "search";r=9;t=61`)
	})
}

func TestReloadKeepsWhatWasSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit, file := start(t, `{"api":"3/m"}`)
		for range 3 {
			get(limit, "/")
		}
		check(t, limit, "/", http.StatusTooManyRequests, `"api";r=0;`)
		write(t, file, `{"api":"5/m"}`)
		check(t, limit, "/", http.StatusTooManyRequests, `"api";r=0;`) // the process does not know yet
		if err := reload(limit, file); err != nil {
			t.Fatal(err)
		}
		check(t, limit, "/", http.StatusOK, `"api";r=1;`)
		write(t, file, `{}`)
		if err := reload(limit, file); err != nil {
			t.Fatal(err)
		}
		check(t, limit, "/", http.StatusOK, `"api";r=55;`) // 60, as in Go
	})
}

func TestBadFileChangesNothing(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string // of the error, a line each
	}{
		"cut off":       {`{"api":"1/m"`, []string{"unexpected end of JSON input"}},
		"empty":         {``, []string{"unexpected end of JSON input"}},
		"another shape": {`["1/m"]`, []string{"cannot unmarshal array"}},
		"no such rule":  {`{"api":"1/m","serach":"1/m"}`, []string{"serach: there is no such rule"}},
		"number":        {`{"api":1}`, []string{"api: json: cannot unmarshal number"}},
		"null":          {`{"api":null}`, []string{"api: null is no limit"}},
		"no limit":      {`{"api":"1/m","search":"many"}`, []string{`search: limiter: cannot read limit "many"`}},
		"invalid limit": {`{"api":"1/367d"}`, []string{`api: limiter: cannot read limit "1/367d"`}},
		"all at once": {`{"x":"1/m","search":"2/w","b":3,"api":"1/367d"}`,
			[]string{"api: ", "search: ", "b: there", "x: there"}},
		"trailing words": {`{"api":"1/m"} {}`, []string{"invalid character"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit, file := start(t, `{"api":"3/m"}`)
				get(limit, "/")
				write(t, file, tt.text)
				err := reload(limit, file)
				if err == nil {
					t.Fatal("got no error")
				}
				lines := strings.Split(err.Error(), "\n")
				if len(lines) != len(tt.want) {
					t.Fatalf("got %d faults, want %d:\n%v", len(lines), len(tt.want), err)
				}
				for i, want := range tt.want {
					if !strings.Contains(lines[i], want) {
						t.Errorf("fault %d: got %s, want %s", i+1, lines[i], want)
					}
				}
				check(t, limit, "/", http.StatusOK, `"api";r=1;`)
			})
		})
	}
}

func TestMissingFileChangesNothing(t *testing.T) {
	limit, file := start(t, `{"api":"3/m"}`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := reload(limit, file); err == nil {
		t.Error("reload: got no error")
	}
	check(t, limit, "/", http.StatusOK, `"api";r=2;`)
}

func TestFileOfTheExampleIsGood(t *testing.T) {
	if _, err := config("limits.json"); err != nil {
		t.Error(err)
	}
}
