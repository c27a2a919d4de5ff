package frameworks_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// endings are about requests whose context has ended before they are decided, and about errors that the application's
// error handler answers.
func endings() []scenario {
	counted := byIP("login", limiter.PerHour(2))
	counted.CountStatus = func(status int) bool { return status == http.StatusUnauthorized }
	failed := byIP("login", limiter.PerHour(2))
	failed.CountStatus = func(status int) bool { return status >= 400 }
	quiet := func(rule httplimit.Rule) []httplimit.Config {
		return []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{rule}}}
	}
	decided := `
		GET /items/7
		take /ip 127.0.0.1 1
		200 item 7

		GET /items/7
		take /ip 127.0.0.1 1 -> refused
		429 quota-exceeded [ip]
		Retry-After: 3601
		Cache-Control: no-store`
	settled := `
		GET /items/7
		take /login 127.0.0.1 1
		settled with 200
		take /login 127.0.0.1 -1
		200 item 7

		GET /items/401
		take /login 127.0.0.1 1
		settled with 401
		401`
	wrongPassword := `
		GET /items/fail
		take /login 127.0.0.1 1
		settled with 401
		401

		GET /items/fail
		take /login 127.0.0.1 1
		settled with 401
		401

		GET /items/fail
		take /login 127.0.0.1 1 -> refused
		429 quota-exceeded [login]
		Retry-After: 3601
		Cache-Control: no-store`
	becomes := func(status int, answer string) string {
		return fmt.Sprintf(`
		GET /items/fail
		take /login 127.0.0.1 1
		settled with %d
		take /login 127.0.0.1 -1
		%s`, status, answer)
	}
	once := byIP("ip", limiter.PerHour(1))
	return []scenario{
		{name: "a server that shuts down", around: quiet(once), shutDown: true, script: decided},
		{name: "a layer outside that cancels", around: quiet(once), canceled: true, script: decided},
		{name: "a server that shuts down, by status", around: quiet(counted), shutDown: true, script: settled},
		{name: "a layer outside that cancels, by status", around: quiet(counted), canceled: true, script: settled},
		{name: "errors that become 401", around: quiet(counted), errorStatus: 401, script: wrongPassword},
		{name: "errors that become 401, on a route", onRoute: quiet(counted), errorStatus: 401, script: wrongPassword},
		{name: "errors that become 404", around: quiet(counted), errorStatus: 404, script: becomes(404, "404")},
		{name: "errors that become 302", around: quiet(failed), errorStatus: 302, script: becomes(302, "302 sorry")},
	}
}

// TestWrongPasswordsThroughTheErrorHandler: a handler returns an error, of which the application makes a 401.
func TestWrongPasswordsThroughTheErrorHandler(t *testing.T) {
	login := byIP("login", limiter.PerHour(5))
	login.CountStatus = func(status int) bool { return status == http.StatusUnauthorized }
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			st := scenario{onRoute: limits(login), errorStatus: http.StatusUnauthorized}.open(t, f)
			tries := 0
			for range 100 {
				if lines := st.play(t, []string{"POST /items/fail"}); slices.Contains(lines, "settled with 401") {
					tries++
				}
			}
			if tries != 5 {
				t.Errorf("%d of 100 wrong passwords were tried, want 5", tries)
			}
		})
	}
}

// TestClientsThatCloseTheirHalf send a request and no more on this connection: they are answered as without a limiter.
func TestClientsThatCloseTheirHalf(t *testing.T) {
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			st := scenario{around: limits(byIP("ip", limiter.PerHour(90)))}.open(t, f)
			take := st.store.take
			st.store.take = func(ctx context.Context, charges []limiter.Charge) (bool, error) {
				time.Sleep(300 * time.Microsecond) // in which the server sees the end of the connection
				return take(ctx, charges)
			}
			got := map[string]int{}
			for range 100 {
				conn, answers := converse(t, st)
				fmt.Fprint(conn, "GET /items/7 HTTP/1.1\r\nHost: api.example\r\n\r\n")
				if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				got[strings.Split(nextAnswer(t, answers), ",")[0]]++
				<-st.through
				conn.Close()
			}
			if got["200 item 7"] != 90 || got["429 quota-exceeded [ip]"] != 10 {
				t.Errorf("got %v, want 90 answers of the handler and 10 refusals", got)
			}
		})
	}
}

const largeBody = 8 << 20

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestHangingUpOnASuccessRefundsNothing: a client reads a part of what it came for, and resets the connection, which
// makes a reverse proxy panic.
func TestHangingUpOnASuccessRefundsNothing(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, zeros{}, largeBody)
	}))
	defer backend.Close()
	at, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, ErrorLog: discarded}
	downloads := byIP("downloads", limiter.PerHour(5))
	downloads.CountStatus = func(status int) bool { return status < 400 }
	for _, f := range streaming() {
		t.Run(f.name, func(t *testing.T) {
			st := scenario{around: limits(downloads), download: proxy}.open(t, f)
			begun := 0
			for range 20 {
				conn, answers := converse(t, st)
				fmt.Fprint(conn, "GET /download HTTP/1.1\r\nHost: api.example\r\n\r\n")
				answer, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				if answer.StatusCode == http.StatusOK {
					begun++
					if _, err := io.CopyN(io.Discard, answer.Body, largeBody/4); err != nil {
						t.Fatal(err)
					}
				}
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
				<-st.through
			}
			if begun != 5 {
				t.Errorf("%d of 20 downloads were begun, want 5", begun)
			}
		})
	}
}

// TestHangingUpBeforeTheAnswerRefundsNothing: a client has the backend work and resets the connection, of which a
// reverse proxy makes a 502 that nobody reads.
func TestHangingUpBeforeTheAnswerRefundsNothing(t *testing.T) {
	reached := make(chan bool, 20)
	backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached <- true
		<-r.Context().Done()
	}))
	defer backend.Close()
	at, err := url.Parse(backend.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }, ErrorLog: discarded}
	reports := byIP("reports", limiter.PerHour(5))
	reports.CountStatus = func(status int) bool { return status < 400 }
	for _, f := range streaming() {
		if !f.seesLeaving {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			st := scenario{around: limits(reports), download: proxy}.open(t, f)
			begun := 0
			for range 20 {
				conn, answers := converse(t, st)
				fmt.Fprint(conn, "GET /download HTTP/1.1\r\nHost: api.example\r\n\r\n")
				answered := make(chan error, 1)
				go func() {
					_, err := answers.Peek(1)
					answered <- err
				}()
				select {
				case <-reached:
					begun++
				case err := <-answered: // a refusal
					if err != nil {
						t.Fatal(err)
					}
				}
				_ = conn.(*net.TCPConn).SetLinger(0)
				conn.Close()
				<-st.through
			}
			if begun != 5 {
				t.Errorf("%d of 20 reports were begun, want 5", begun)
			}
		})
	}
}

// TestRefusalsLeaveHTTP2ConnectionsAlone: what would close a connection of HTTP/1 is one stream among many here.
func TestRefusalsLeaveHTTP2ConnectionsAlone(t *testing.T) {
	for _, f := range frameworks() {
		if !f.http2 {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			st := refusing(false).open(t, f)
			dials := 0
			transport := &http.Transport{Protocols: new(http.Protocols),
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					dials++
					return new(net.Dialer).DialContext(ctx, st.at.Network(), st.at.String())
				}}
			transport.Protocols.SetUnencryptedHTTP2(true)
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for _, body := range []io.Reader{
				strings.NewReader(strings.Repeat("x", 1<<20)), io.LimitReader(zeros{}, 1<<20), nil,
			} {
				for range 10 {
					answer, err := client.Post(host+"/items/7", "application/octet-stream", body)
					if err != nil {
						t.Fatal(err)
					}
					answer.Body.Close()
					<-st.through
					if answer.StatusCode != http.StatusTooManyRequests || answer.ProtoMajor != 2 ||
						answer.Header.Get("Connection") != "" {
						t.Errorf("got %s %s %v, want 429 over HTTP/2", answer.Proto, answer.Status, answer.Header)
					}
				}
			}
			if dials != 1 {
				t.Errorf("30 refusals took %d connections, want 1", dials)
			}
		})
	}
}
