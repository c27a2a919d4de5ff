package browser_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/browser"
	"github.com/httplimit/httplimit/e2e/servers"
)

// raw sends a request as it is written, over a connection of its own, and returns the status.
func raw(t *testing.T, addr, request string) int {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A proxy on the same machine makes strangers look local. No way in which nginx is usually told to proxy lets them in.
func TestLocalOnlyBehindNginx(t *testing.T) {
	s := startService(t)
	_, port, _ := net.SplitHostPort(s.addr)
	to := "proxy_pass http://" + s.addr + "/; "
	proxy := servers.Nginx(t, `
		location /plain/ { `+to+`}
		location /host/ { `+to+`proxy_set_header Host $host; }
		location /localhost/ { `+to+`proxy_set_header Host localhost:`+port+`; }
		location /forwarded/ { `+to+`proxy_http_version 1.1; proxy_set_header X-Forwarded-For $remote_addr; }
		location /real/ { `+to+`proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr; }
		location /named/ { `+to+`proxy_http_version 1.1; proxy_set_header Host shop.example; }`)
	ask := func(path, host string) int {
		return raw(t, proxy.Addr(), "GET /"+path+" HTTP/1.1\nHost: "+host+"\nX-Customer: a\nConnection: close\n\n")
	}
	for _, way := range []string{"plain", "host", "localhost", "forwarded", "real", "named"} {
		if got := ask(way+"/", "localhost"); got != http.StatusOK && got != http.StatusTooManyRequests {
			t.Errorf("%s: the service itself answers %d through nginx", way, got)
		}
		for _, page := range []string{"", "events", "page.js", "api/overview.json", "nowhere"} {
			if got := ask(way+"/ops/limits/"+page, "localhost"); got != http.StatusForbidden {
				t.Errorf("%s: %q is answered %d, want 403", way, page, got)
			}
		}
	}
	if got := raw(t, s.addr, "GET /ops/limits/ HTTP/1.1\nHost: localhost\nConnection: close\n\n"); got != http.StatusOK {
		t.Errorf("without nginx: %d, want 200", got)
	}
}

// Who has an own way to know viewers may mount the page behind a proxy that strips the prefix.
func TestConsoleUnderAnotherPrefix(t *testing.T) {
	t.Parallel()
	s := startServiceFor(t, func(*http.Request) bool { return true }, storeTimeout)
	proxy := servers.Nginx(t, `location /a/b/ { proxy_pass `+s.url+`; }`)
	url := "http://" + proxy.Addr() + "/a/b/"
	s.refuse(t, "alice", "/", 1)
	p := browser.Start(t).Open(t, url, browser.Look{})
	live(t, p)
	tabTo(t, p, `e.innerText === "alice"`)
	follow(t, p, "A client")
	shows(t, p, ".standing.refused h2", "orders")
	none(t, "fault", p.Faults())
	p.StaysWithin(t, url)
}

func TestConsoleRefusesStrangers(t *testing.T) {
	s := startService(t)
	s.refuse(t, "alice", "/", 2)
	const form = "rule=x&key=alice"
	post := func(page, fields string) string {
		return fmt.Sprintf("POST /ops/limits/%s HTTP/1.1\nHost: %s\n%sContent-Type: application/x-www-form-urlencoded\n"+
			"Content-Length: %d\nConnection: close\n\n%s", page, s.addr, fields, len(form), form)
	}
	get := func(path, host string) string {
		return "GET " + path + " HTTP/1.1\nHost: " + host + "\nX-Customer: b\nConnection: close\n\n"
	}
	for what, it := range map[string]struct {
		request string
		want    []int
	}{
		"cross-site reset":    {post("reset", "Sec-Fetch-Site: cross-site\n"), []int{403}},
		"same-site reset":     {post("reset", "Sec-Fetch-Site: same-site\n"), []int{403}},
		"forged origin":       {post("reset", "Origin: http://evil.example\n"), []int{403}},
		"null origin":         {post("api/reset.json", "Origin: null\n"), []int{403}},
		"another port's form": {post("client", "Origin: http://127.0.0.1:1\n"), []int{403}},
		"rebound host":        {get("/ops/limits/", "evil.example"), []int{403}},
		"rebound host, port":  {get("/ops/limits/api/overview.json", "localhost.evil.example:80"), []int{403}},
		"reset by GET":        {get("/ops/limits/reset", s.addr), []int{405}},
		"up":                  {get("/ops/limits/../../etc/passwd", s.addr), []int{301, 307}},
		"encoded up":          {get("/ops/limits/%2e%2e%2f%2e%2e%2fetc/passwd", s.addr), []int{301, 307, 404}},
		"backslashes":         {get(`/ops/limits/..%5c..%5cgo.mod`, s.addr), []int{404}},
		"source":              {get("/ops/limits/templates/layout.html", s.addr), []int{404}},
		"same origin is let in": {
			post("client", "Origin: http://"+s.addr+"\nSec-Fetch-Site: same-origin\n"), []int{400},
		},
	} {
		got, found := raw(t, s.addr, it.request), false
		for _, want := range it.want {
			found = found || got == want
		}
		if !found {
			t.Errorf("%s: %d, want one of %v", what, got, it.want)
		}
	}
	if got := s.request(t, "alice", "/"); got != http.StatusTooManyRequests {
		t.Errorf("after all this alice is answered %d, want 429 as before", got)
	}
}
