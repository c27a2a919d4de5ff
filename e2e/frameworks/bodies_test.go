package frameworks_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// refusing refuses everything, by path. Fiber reads bodies before handlers run unless it is told not to.
func refusing(streamBodies bool) scenario {
	return scenario{streamBodies: streamBodies,
		around: []httplimit.Config{{Headers: httplimit.NoHeaders, Rules: []httplimit.Rule{{
			Name: "path", Limit: limiter.PerHour(1),
			Key:  httplimit.KeyFunc(func(r *http.Request) (string, error) { return strings.Clone(r.URL.Path), nil }),
			Cost: func(*http.Request) (int64, error) { return 2, nil },
		}}}}}
}

// The client sends the beginning of a body and waits: it gets its refusal all the same.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	const length = 200 << 10 // less than the 256 KiB that net/http would read first
	begun := strings.Repeat("x", 8<<10)
	for name, request := range map[string]string{
		"200 KiB":        fmt.Sprintf("Content-Length: %d\r\n\r\n%s", length, begun),
		"unknown length": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", length, begun),
	} {
		for _, f := range frameworks() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				conn, answers := converse(t, refusing(true).open(t, f))
				fmt.Fprint(conn, "POST /items/7 HTTP/1.1\r\nHost: api.example\r\n", request)
				got := nextAnswer(t, answers)
				if want := "429 quota-exceeded [path], Cache-Control: no-store, Connection: close"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

// What nobody has read of a body must not be taken for the next request.
func TestRefusedBodyIsNoRequest(t *testing.T) {
	// 64 bytes, so that one begins wherever a server may have stopped to read.
	const inner = "GET /items/smuggled HTTP/1.1\r\nHost: api.example\r\nX-Pad: 0123\r\n\r\n"
	for name, body := range map[string]string{
		"short":   inner,
		"long":    strings.Repeat(inner, 1000),
		"chunked": "",
	} {
		for _, streamed := range []bool{false, true} {
			for _, f := range frameworks() {
				t.Run(fmt.Sprintf("%s/streamed=%v/%s", name, streamed, f.name), func(t *testing.T) {
					st := refusing(streamed).open(t, f)
					conn, answers := converse(t, st)
					fmt.Fprintf(conn, "POST /items/7 HTTP/1.1\r\nHost: api.example\r\n")
					if body == "" {
						fmt.Fprintf(conn, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(inner), inner)
					} else {
						fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n%s", len(body), body)
					}
					fmt.Fprint(conn, "GET /open HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n")

					_, _ = io.Copy(io.Discard, answers) // until the server is done; it may reset what it left unread
					both := []string{"take /path /items/7 2 -> refused", "take /path /open 2 -> refused"}
					if got := st.store.noted(); !slices.Equal(got, both) && !slices.Equal(got, both[:1]) {
						t.Errorf("got %q, want %q, or the first alone and an end of the connection", got, both)
					}
				})
			}
		}
	}
}

// converse opens a connection on which the test itself writes requests.
func converse(t *testing.T, s *stage) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	// A server that waits for what never comes should fail the test, not hang it.
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func nextAnswer(t *testing.T, answers *bufio.Reader) string {
	t.Helper()
	a, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(describeAnswer(a, string(body)), ", ")
}
