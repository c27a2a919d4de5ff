package httplimit_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// failuresOnly is the rule of a login page.
func failuresOnly() httplimit.Rule {
	return httplimit.Rule{Name: "login", Key: httplimit.ClientIP(), Limit: limiter.Per(5, 15*time.Minute),
		CountStatus: func(status int) bool { return status == http.StatusUnauthorized || status >= 500 }}
}

// copier is a recorder that takes a whole body at once, as the server's writer does.
type copier struct{ *httptest.ResponseRecorder }

func (c copier) ReadFrom(src io.Reader) (int64, error) { return io.Copy(c.ResponseRecorder, src) }

func TestCountStatus(t *testing.T) {
	tests := map[string]struct {
		handler http.HandlerFunc
		leaves  bool  // the client, before anything is written
		want    int64 // units spent
	}{
		"counts":                 {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, false, 1},
		"does not count":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) }, false, 0},
		"nothing written is 200": {func(http.ResponseWriter, *http.Request) {}, false, 0},
		"a body alone is 200": {
			func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hi"); w.WriteHeader(401) },
			false,
			0,
		},
		"so is one that is copied": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.(io.ReaderFrom).ReadFrom(strings.NewReader("hi"))
			w.WriteHeader(401)
		}, false, 0},
		"1xx is not the status": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(401) },
			false,
			1,
		},
		"the first final status stands": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); w.WriteHeader(200) },
			false,
			1,
		},
		"a flush is 200": {
			func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); w.WriteHeader(401) },
			false,
			0,
		},
		"a panic is 500": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			false,
			1,
		},
		"a panic after 200 is 200": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200); panic("late") },
			false,
			0,
		},
		"a panic after 103 is 500": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); panic("late") },
			false,
			1,
		},
		"a panic after a refusal undoes nothing": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404); panic("late") },
			false,
			0,
		},
		"a panic after the client left is 499": {
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			true,
			1,
		},
		"a client that left counts": {func(http.ResponseWriter, *http.Request) {}, true, 1},
		"unless the handler answered it all": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(200) },
			true,
			0,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{failuresOnly()}})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r := httptest.NewRequest(http.MethodPost, "/login", nil).WithContext(ctx)
			func() {
				defer func() { _ = recover() }()
				m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if got := remaining(t, m, "login"); got != 4 {
						t.Errorf("in the handler: %d remaining, want 4: a request under way counts", got)
					}
					if tt.leaves {
						cancel()
					}
					tt.handler(w, r)
				})).ServeHTTP(copier{httptest.NewRecorder()}, r)
			}()
			if got := 5 - remaining(t, m, "login"); got != tt.want {
				t.Errorf("spent %d units, want %d", got, tt.want)
			}
		})
	}
}

func TestRefundGoesToTheWindowThatWasCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := failuresOnly()
		rule.Limit = limiter.Limit{Requests: 5, Window: time.Minute, Algorithm: limiter.FixedWindow}
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Minute) // into the next window
			if _, err := m.Allow(context.Background(), "login", "192.0.2.1"); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusOK)
		})).ServeHTTP(httptest.NewRecorder(), get())
		if got := remaining(t, m, "login"); got != 4 {
			t.Errorf("remaining after a refund across the turn: got %d, want 4: the new window's charge stays", got)
		}
	})
}

func TestRefundGoesWhereTheChargeWas(t *testing.T) {
	store := &scripted{err: errDown}
	rule := failuresOnly()
	m := mustNew(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule}})
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		store.fail(nil) // the store is back before the handler ends
		w.WriteHeader(http.StatusOK)
	})).ServeHTTP(httptest.NewRecorder(), get())
	for _, c := range store.charges() {
		if c.Cost < 0 {
			t.Errorf("a local charge was given back to the store: %+v", c)
		}
	}
	store.fail(errDown)
	if got := remaining(t, m, "login"); got != 5 {
		t.Errorf("remaining in this process: got %d, want 5", got)
	}
}

func TestWriterIsWrappedOnlyForCountStatus(t *testing.T) {
	for _, count := range []bool{false, true} {
		rule := ip(limiter.PerDay(5))
		if count {
			rule.CountStatus = func(int) bool { return true }
		}
		m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
		outer := httptest.NewRecorder()
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if same := w == http.ResponseWriter(outer); same == count {
				t.Errorf("CountStatus %v: the handler got the server's own writer: %v", count, same)
			}
			if _, ok := w.(http.Flusher); !ok {
				t.Errorf("CountStatus %v: the writer lost its Flusher", count)
			}
		})).ServeHTTP(outer, get())
	}
}

// TestCountStatusOverASocket takes a connection over: the request settles as 101 then, while the connection lives on.
func TestCountStatusOverASocket(t *testing.T) {
	seen := make(chan int, 1)
	rule := ip(limiter.PerDay(5))
	rule.CountStatus = func(status int) bool { seen <- status; return false }
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
	server := httptest.NewServer(m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		defer conn.Close()
		select {
		case status := <-seen:
			if status != http.StatusSwitchingProtocols {
				t.Errorf("settled with %d, want 101", status)
			}
		default:
			t.Error("not settled at the hijack")
		}
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	})))
	defer server.Close()
	r, _ := http.NewRequest(http.MethodGet, server.URL, nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	conn, ok := resp.Body.(io.ReadWriter)
	if !ok {
		t.Fatalf("no upgraded connection: %d", resp.StatusCode)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, _ := bufio.NewReader(conn).ReadString('\n'); strings.TrimSpace(line) != "hello" {
		t.Errorf("over the upgraded connection: got %q, want hello", line)
	}
	if v, err := m.Peek(context.Background(), "ip", "127.0.0.1"); err != nil || v.Remaining != 5 {
		t.Errorf("after the refund: got %+v, %v, want 5 remaining", v, err)
	}
}

// TestHangUpDoesNotUndoAFailure: a reverse proxy panics when its client hangs up in the middle of an answer, which must
// not give back a try of which the client has read the result.
func TestHangUpDoesNotUndoAFailure(t *testing.T) {
	rule := failuresOnly()
	rule.CountStatus = func(status int) bool { return status == http.StatusForbidden }
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
	func() {
		defer func() { _ = recover() }()
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			panic(http.ErrAbortHandler)
		})).ServeHTTP(httptest.NewRecorder(), get())
	}()
	if got := remaining(t, m, "login"); got != 4 {
		t.Errorf("remaining: got %d, want 4", got)
	}
}

// TestRefundIsNotHeldUpByAnotherCounter: what one rule gives back does not depend on whether another one of the request
// is above its limit, which a stranger can bring about.
func TestRefundIsNotHeldUpByAnotherCounter(t *testing.T) {
	never := func(int) bool { return false }
	m := mustNew(t, httplimit.Config{Expose: true, Rules: []httplimit.Rule{
		{Name: "own", Key: httplimit.ClientIP(), Limit: limiter.PerDay(5), CountStatus: never},
		{
			Name:        "all",
			Key:         httplimit.Everyone(),
			Limit:       limiter.PerDay(100),
			CountStatus: never,
			Cost:        func(*http.Request) (int64, error) { return 0, nil },
		},
	}})
	var stranger context.Context
	m.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stranger = r.Context() })).
		ServeHTTP(httptest.NewRecorder(), get())
	m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if err := httplimit.Spend(stranger, "all", 150); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), get())
	if got := remaining(t, m, "own"); got != 5 {
		t.Errorf("remaining: got %d, want 5", got)
	}
}

// onlyUnwrap is a layer as access logs have it: it offers nothing itself, and Unwrap for http.ResponseController.
type onlyUnwrap struct{ http.ResponseWriter }

func (w onlyUnwrap) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestHijackThroughUnwrapSettlesAs101(t *testing.T) {
	seen := make(chan int, 1)
	rule := ip(limiter.PerDay(5))
	rule.CountStatus = func(status int) bool { seen <- status; return true }
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
	limited := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Errorf("Hijack: %v", err)
			return
		}
		_ = conn.Close()
	}))
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { limited.ServeHTTP(onlyUnwrap{w}, r) }),
	)
	defer server.Close()
	if resp, err := server.Client().Get(server.URL); err == nil {
		_ = resp.Body.Close()
	}
	if status := <-seen; status != http.StatusSwitchingProtocols {
		t.Errorf("settled with %d, want 101", status)
	}
}

func TestWriterThatCannotBeTakenOverStaysSo(t *testing.T) {
	rule := ip(limiter.PerDay(5))
	rule.CountStatus = func(int) bool { return true }
	m := mustNew(t, httplimit.Config{Rules: []httplimit.Rule{rule}})
	m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the writer offers to be taken over, which it cannot be")
		}
	})).ServeHTTP(onlyUnwrap{httptest.NewRecorder()}, get())
}
