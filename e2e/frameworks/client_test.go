package frameworks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listen opens a socket on the loopback: network is "tcp4", "tcp6", "tcp" for both in one, or "unix".
func listen(t *testing.T, network string) net.Listener {
	t.Helper()
	address := "localhost:0"
	switch network {
	case "tcp4":
		address = "127.0.0.1:0"
	case "tcp6":
		address = "[::1]:0"
	case "tcp":
		address = "[::]:0"
	case "unix":
		folder, err := os.MkdirTemp("", "") // t.TempDir's names are too long for a socket's
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		address = filepath.Join(folder, "socket")
	}
	at, err := net.Listen(network, address)
	if err != nil && network != "tcp4" {
		t.Skipf("this machine has no %s sockets: %v", network, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { at.Close() })
	return at
}

// host is where clients believe to be: it says nothing of the socket.
const host = "http://api.example"

// dial returns a client that reaches the listener whatever the URL says, on connections of its own.
func dial(t *testing.T, at net.Listener) *http.Client {
	network, address := at.Addr().Network(), at.Addr().String()
	if tcp, ok := at.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		network, address = "tcp4", fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	var dialer net.Dialer
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// describeAnswer writes what an answer says of limits:
//
//	429 quota-exceeded [ip]
//	RateLimit: "ip";r=0;t=3601
//
// The body of an error that the handler made is left out: frameworks word it as they like.
func describeAnswer(a *http.Response, body string) []string {
	lines := []string{strings.TrimSpace(fmt.Sprint(a.StatusCode, " ", meaning(a, body)))}
	for _, name := range []string{
		"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
		"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "Cache-Control",
	} {
		for _, value := range a.Header.Values(name) {
			lines = append(lines, name+": "+value)
		}
	}
	if a.Close {
		lines = append(lines, "Connection: close")
	}
	return lines
}

// meaning is what the body says. Only what is labelled as a problem is one.
func meaning(a *http.Response, body string) string {
	if a.Header.Get("Content-Type") == "application/problem+json" && body != "" {
		var p struct {
			Type, Title string
			Status      int
			Violated    []string `json:"violated-policies"`
		}
		err := json.Unmarshal([]byte(body), &p)
		kind, registered := strings.CutPrefix(p.Type, "https://iana.org/assignments/http-problem-types#")
		if err != nil || !registered || p.Title == "" || p.Status != a.StatusCode {
			return "NOT A PROBLEM: " + body
		}
		return fmt.Sprint(kind, " ", p.Violated)
	}
	if a.StatusCode >= 400 && a.Header.Get("Retry-After") == "" {
		return ""
	}
	return body
}

func send(client *http.Client, r *http.Request) (*http.Response, string, error) {
	answer, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}
