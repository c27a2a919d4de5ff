package frameworks_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// rawClient sends requests as an attacker writes them, which http.Client would refuse or tidy up.
type rawClient struct {
	t    *testing.T
	at   net.Addr
	conn net.Conn
	in   *bufio.Reader
}

// send writes a request of these lines and returns the status of its answer.
func (c *rawClient) send(lines ...string) (status int) {
	c.t.Helper()
	if c.conn == nil {
		conn, err := net.Dial(c.at.Network(), c.at.String())
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { conn.Close() })
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	request := lines[0] + " HTTP/1.1\r\nHost: api.example\r\n" + strings.Join(lines[1:], "\r\n")
	if len(lines) > 1 {
		request += "\r\n"
	}
	if _, err := io.WriteString(c.conn, request+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
	method, _, _ := strings.Cut(lines[0], " ")
	answer, err := http.ReadResponse(c.in, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("%q: %v", lines, err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		c.t.Fatalf("%q: %v", lines, err)
	}
	if answer.Close || method == http.MethodConnect {
		c.conn.Close()
		c.conn = nil
	}
	return answer.StatusCode
}
