package ginlimit_test

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
	"time"

	"github.com/gin-gonic/gin"
	"github.com/httplimit/httplimit"
	ginlimit "github.com/httplimit/httplimit/adapters/gin"
	"github.com/httplimit/httplimit/limiter"
)

func TestSettlesWithTheFinalStatus(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		handler gin.HandlerFunc
		want    int
	}{
		"written":              {hello, 200},
		"nothing at all":       {func(*gin.Context) {}, 200},
		"status alone":         {func(c *gin.Context) { c.Status(204) }, 204},
		"aborted with status":  {func(c *gin.Context) { c.AbortWithStatus(401) }, 401},
		"aborted with error":   {func(c *gin.Context) { _ = c.AbortWithError(403, errors.New("no")) }, 403},
		"error left behind":    {func(c *gin.Context) { _ = c.Error(errors.New("no")) }, 0}, // nobody answers: it counts
		"error and an answer":  {func(c *gin.Context) { _ = c.Error(errors.New("no")); hello(c) }, 200},
		"panic":                {func(*gin.Context) { panic("no") }, 500},
		"panic after a write":  {func(c *gin.Context) { hello(c); panic("no") }, 200},
		"panic after an error": {func(c *gin.Context) { c.String(403, "no"); panic(http.ErrAbortHandler) }, 403},
		"own context ended":    {func(c *gin.Context) { c.Request = c.Request.WithContext(ended) }, 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status := 0
			engine := newEngine()
			engine.GET("/", ginlimit.New(limit(t, nil, httplimit.Rule{Name: "r",
				CountStatus: func(s int) bool { status = s; return true }})), tt.handler)
			get(t, serve(t, engine))
			if status != tt.want {
				t.Errorf("settled with %d, want %d", status, tt.want)
			}
		})
	}
}

func TestOnlyFailuresCount(t *testing.T) {
	engine := newEngine()
	engine.GET("/:status", ginlimit.New(limit(t, nil, httplimit.Rule{Name: "login", Limit: limiter.PerDay(2),
		CountStatus: func(status int) bool { return status == http.StatusUnauthorized }})),
		func(c *gin.Context) {
			if c.Param("status") == "401" {
				c.AbortWithStatus(http.StatusUnauthorized)
			}
		})
	url := serve(t, engine)
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
	for name, leaves := range map[string]struct {
		handlers    func(limit, leaving, h gin.HandlerFunc) []gin.HandlerFunc
		wantServed  bool
		wantCharged int
	}{
		"before the decision": {func(limit, leaving, h gin.HandlerFunc) []gin.HandlerFunc {
			return []gin.HandlerFunc{leaving, limit, h}
		}, true, 1},
		"before the answer": {func(limit, leaving, h gin.HandlerFunc) []gin.HandlerFunc {
			return []gin.HandlerFunc{limit, leaving, h}
		}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			store, served, denied := newSpy(t), false, false
			m := limit(t, store, httplimit.Rule{Name: "login", CountStatus: func(int) bool { return false }})
			limited := ginlimit.New(m, ginlimit.Config{OnDeny: func(*gin.Context, httplimit.Denial) { denied = true }})
			ctx, leave := context.WithCancel(context.Background())
			leaving := func(c *gin.Context) { leave(); <-c.Request.Context().Done() }
			engine := newEngine()
			engine.GET("/", leaves.handlers(limited, leaving, func(*gin.Context) { served = true })...)
			server := httptest.NewServer(engine)

			r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response, err := http.DefaultClient.Do(r); err == nil {
				response.Body.Close()
				t.Fatal("the client that left got an answer")
			}
			server.Close() // waits for the handler
			if served != leaves.wantServed || denied {
				t.Errorf("served %v, denied %v: want %v and false", served, denied, leaves.wantServed)
			}
			if taken, back := store.spent(); taken != leaves.wantCharged || back != 0 {
				t.Errorf("%d charges and %d refunds, want %d and none", taken, back, leaves.wantCharged)
			}
		})
	}
}

func TestHijackSettlesAtOnce(t *testing.T) {
	statuses, finish, returned := make(chan int, 3), make(chan struct{}), make(chan struct{})
	var next *httplimit.Outcome // takes the place of the one that is settled
	m := limit(t, nil, httplimit.Rule{Name: "ws", CountStatus: func(s int) bool { statuses <- s; return true }})
	engine := newEngine()
	engine.Use(func(c *gin.Context) { defer close(returned); c.Next() })
	engine.GET("/", ginlimit.New(m), func(c *gin.Context) {
		conn, rw, err := http.NewResponseController(c.Writer).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\n\r\n")
		_ = rw.Flush()
		next = m.Check(httplimit.HTTPRequest(httptest.NewRequest(http.MethodGet, "/", nil)))
		<-finish
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(serve(t, engine), "http://"))
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

// Whoever takes the connection over when the handler has returned must not settle what is another request's by then.
func TestHijackAfterTheHandlerSettlesNobodyElse(t *testing.T) {
	statuses := make(chan int, 3)
	m := limit(t, nil, httplimit.Rule{Name: "ws", CountStatus: func(s int) bool { statuses <- s; return true }})
	engine := newEngine()
	engine.Use(func(c *gin.Context) {
		c.Next()
		defer close(statuses)
		another := m.Check(httplimit.HTTPRequest(httptest.NewRequest(http.MethodGet, "/", nil)))
		conn, _, err := c.Writer.Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		another.Settle(http.StatusTeapot)
	})
	engine.GET("/", ginlimit.New(m), func(c *gin.Context) { c.Status(http.StatusForbidden) })
	conn, err := net.Dial("tcp", strings.TrimPrefix(serve(t, engine), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	var got []int
	for status := range statuses {
		got = append(got, status)
	}
	if want := []int{http.StatusForbidden, http.StatusTeapot}; !slices.Equal(got, want) {
		t.Errorf("settled with %v, want %v", got, want)
	}
}

func TestUpgradeWriterStillFlushes(t *testing.T) {
	engine := newEngine()
	engine.GET("/", ginlimit.New(limit(t, nil, httplimit.Rule{Name: "r"})), func(c *gin.Context) {
		hello(c)
		if err := http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Errorf("no write deadline: %v", err)
		}
		c.Writer.Flush()
	})
	if a := send(t, http.MethodGet, serve(t, engine), http.Header{"Upgrade": {"h2c"}}); a.body != "hello" ||
		a.ContentLength != -1 {
		t.Errorf("got %q of length %d, want hello, flushed", a.body, a.ContentLength)
	}
}
