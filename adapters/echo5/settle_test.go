package echo5limit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
	echo5limit "github.com/httplimit/httplimit/adapters/echo5"
	"github.com/httplimit/httplimit/limiter"
	"github.com/labstack/echo/v5"
)

func TestSettlesWithTheFinalStatus(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		handler echo.HandlerFunc
		want    int
	}{
		"written":        {hello, 200},
		"nothing at all": {func(*echo.Context) error { return nil }, 200},
		"no content":     {func(c *echo.Context) error { return c.NoContent(204) }, 204},
		"HTTPError":      {func(*echo.Context) error { return echo.NewHTTPError(401, "no") }, 401},
		"wrapped HTTPError": {func(*echo.Context) error {
			return fmt.Errorf("login: %w", echo.ErrForbidden)
		}, 403},
		"error in an HTTPError": {func(*echo.Context) error {
			return echo.NewHTTPError(400, "no").Wrap(echo.ErrForbidden)
		}, 400},
		"any error": {func(*echo.Context) error { return errors.New("no") }, 500},
		"error after the answer": {func(c *echo.Context) error {
			_ = hello(c)
			return errors.New("no")
		}, 200},
		"error answered by the handler": {func(c *echo.Context) error {
			c.Echo().HTTPErrorHandler(c, echo.ErrNotFound)
			return nil
		}, 404},
		"panic":                {func(*echo.Context) error { panic("no") }, 500},
		"panic after an error": {func(c *echo.Context) error { _ = c.NoContent(403); panic("late") }, 403},
		"own context ended": {func(c *echo.Context) error {
			c.SetRequest(c.Request().WithContext(ended))
			return nil
		}, 200},
		"net/http middleware": {echo.WrapMiddleware(func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) })
		})(hello), 409},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := 0
			e := newEcho()
			e.GET("/", tt.handler, echo5limit.New(limit(t, nil, httplimit.Rule{Name: "r",
				CountStatus: func(s int) bool { status = s; return true }})))
			get(t, serve(t, e))
			if status != tt.want {
				t.Errorf("settled with %d, want %d", status, tt.want)
			}
		})
	}
}

func TestOnlyFailuresCount(t *testing.T) {
	e := newEcho()
	e.GET("/:status", func(c *echo.Context) error {
		if c.Param("status") == "401" {
			return echo.ErrUnauthorized
		}
		return nil
	}, echo5limit.New(limit(t, nil, httplimit.Rule{Name: "login", Limit: limiter.PerDay(2),
		CountStatus: func(status int) bool { return status == http.StatusUnauthorized }})))
	url := serve(t, e)
	for i, c := range []struct {
		path string
		want int
	}{{"/200", 200}, {"/401", 401}, {"/200", 200}, {"/200", 200}, {"/401", 401}, {"/200", 429}} {
		if a := get(t, url+c.path); a.StatusCode != c.want {
			t.Errorf("request %d: got %s, want %d", i+1, a.Status, c.want)
		}
	}
}

func TestClientGone(t *testing.T) {
	for name, tt := range map[string]struct {
		middleware func(limit, leaving echo.MiddlewareFunc) []echo.MiddlewareFunc
		err        error
		wantServed bool
	}{
		"before the decision": {middleware: func(limit, leaving echo.MiddlewareFunc) []echo.MiddlewareFunc {
			return []echo.MiddlewareFunc{leaving, limit}
		}, wantServed: true},
		"before the answer": {middleware: func(limit, leaving echo.MiddlewareFunc) []echo.MiddlewareFunc {
			return []echo.MiddlewareFunc{limit, leaving}
		}, wantServed: true},
		"before the answer, with its error": {middleware: func(limit, leaving echo.MiddlewareFunc) []echo.MiddlewareFunc {
			return []echo.MiddlewareFunc{limit, leaving}
		}, err: context.Canceled, wantServed: true},
	} {
		t.Run(name, func(t *testing.T) {
			store, served, denied := newSpy(t), false, false
			m := limit(t, store, httplimit.Rule{Name: "login", CountStatus: func(int) bool { return false }})
			limited := echo5limit.New(
				m,
				echo5limit.Config{OnDeny: func(*echo.Context, httplimit.Denial) error { denied = true; return nil }},
			)
			ctx, leave := context.WithCancel(context.Background())
			leaving := func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c *echo.Context) error {
					leave()
					<-c.Request().Context().Done()
					return next(c)
				}
			}
			e := newEcho()
			e.GET("/", func(*echo.Context) error { served = true; return tt.err }, tt.middleware(limited, leaving)...)
			server := httptest.NewServer(e)

			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response, err := http.DefaultClient.Do(r); err == nil {
				response.Body.Close()
				t.Fatal("the client that left got an answer")
			}
			server.Close() // waits for the handler
			if served != tt.wantServed || denied {
				t.Errorf("served %v, denied %v: want %v and false", served, denied, tt.wantServed)
			}
			if taken, back := store.spent(); taken != 1 || back != 0 {
				t.Errorf("%d charges and %d refunds, want 1 and none", taken, back)
			}
		})
	}
}

func TestHijackSettlesAtOnce(t *testing.T) {
	statuses, finish, returned := make(chan int, 3), make(chan struct{}), make(chan struct{})
	var next *httplimit.Outcome // takes the place of the one that is settled
	m := limit(t, nil, httplimit.Rule{Name: "ws", CountStatus: func(s int) bool { statuses <- s; return true }})
	e := newEcho()
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error { defer close(returned); return next(c) }
	})
	e.GET("/", func(c *echo.Context) error {
		conn, rw, err := http.NewResponseController(c.Response()).Hijack()
		if err != nil {
			return err
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\n\r\n")
		_ = rw.Flush()
		next = m.Check(httplimit.HTTPRequest(httptest.NewRequest(http.MethodGet, "/", nil)))
		<-finish
		return nil
	}, echo5limit.New(m))
	conn, err := net.Dial("tcp", strings.TrimPrefix(serve(t, e), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "101") {
		t.Fatalf("got %q, %v, want 101", line, err)
	}
	if got := len(statuses); got != 1 {
		t.Errorf("settled %d times while the connection is open, want once", got)
	}
	close(finish)
	<-returned
	next.Settle(http.StatusTeapot)
	close(statuses)
	var got []int
	for status := range statuses {
		got = append(got, status)
	}
	if want := []int{http.StatusSwitchingProtocols, http.StatusTeapot}; !slices.Equal(got, want) {
		t.Errorf("settled with %v, want %v", got, want)
	}
}

// An HTTPErrorHandler that takes the connection over settles the request that it answers, and no other.
func TestHijackByTheErrorHandler(t *testing.T) {
	statuses := make(chan int, 3)
	m := limit(t, nil, httplimit.Rule{Name: "ws", CountStatus: func(s int) bool { statuses <- s; return true }})
	e := newEcho()
	e.HTTPErrorHandler = func(c *echo.Context, _ error) {
		defer close(statuses)
		another := m.Check(httplimit.HTTPRequest(httptest.NewRequest(http.MethodGet, "/", nil)))
		conn, _, err := http.NewResponseController(c.Response()).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		another.Settle(http.StatusTeapot)
	}
	e.GET("/", func(*echo.Context) error { return echo.ErrForbidden }, echo5limit.New(m))
	conn, err := net.Dial("tcp", strings.TrimPrefix(serve(t, e), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	var got []int
	for status := range statuses {
		got = append(got, status)
	}
	if want := []int{http.StatusSwitchingProtocols, http.StatusTeapot}; !slices.Equal(got, want) {
		t.Errorf("settled with %v, want %v", got, want)
	}
}

func TestUpgradeWriterStillFlushes(t *testing.T) {
	e := newEcho()
	e.GET("/", func(c *echo.Context) error {
		defer func() { _ = http.NewResponseController(c.Response()).Flush() }()
		return hello(c)
	}, echo5limit.New(limit(t, nil, httplimit.Rule{Name: "r"})))
	if a := send(t, http.MethodGet, serve(t, e), http.Header{"Upgrade": {"h2c"}}); a.body != "hello" ||
		a.ContentLength != -1 {
		t.Errorf("got %q of length %d, want hello, flushed", a.body, a.ContentLength)
	}
}
