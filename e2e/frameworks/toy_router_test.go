package frameworks_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// toyRouter stands for the router that nobody has thought of yet: it has no handler, request or header of net/http.
// Patterns end in "*" where anything may follow.
type toyRouter struct {
	around []toyLayer
	routes map[string]toyHandler
}

type (
	// toyHandler fails with a toyStatus, or with any other error, which is a 500.
	toyHandler func(*exchange) error
	toyLayer   func(x *exchange, next toyHandler) error
	toyStatus  int
	toyField   struct{ name, value string }
)

func (s toyStatus) Error() string { return "status " + strconv.Itoa(int(s)) }

// exchange is a request and its answer.
type exchange struct {
	ctx                   context.Context
	verb, target, version string
	asked                 []toyField
	peer                  net.Addr
	pattern, rest         string // what matched, and what "*" stands for in it
	status                int
	answered              []toyField
	body                  string
}

func layered(layers []toyLayer, last toyHandler) toyHandler {
	for i := len(layers) - 1; i >= 0; i-- {
		layer, next := layers[i], last
		last = func(x *exchange) error { return layer(x, next) }
	}
	return last
}

// serve returns when the listener is closed.
func (r *toyRouter) serve(at net.Listener) {
	for {
		conn, err := at.Accept()
		if err != nil {
			return
		}
		go r.converse(conn)
	}
}

func (r *toyRouter) converse(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		x, err := readExchange(in)
		if err != nil {
			return
		}
		x.peer = conn.RemoteAddr()
		r.answer(x)
		unread := x.bodyLength()
		if unread < 0 || unread > 64<<10 {
			x.answered = append(x.answered, toyField{"Connection", "close"})
			x.writeTo(conn)
			if tcp, ok := conn.(*net.TCPConn); ok { // closed at once, what the client still sends would tear the answer down
				_ = tcp.CloseWrite()
				_, _ = io.Copy(io.Discard, conn)
			}
			return
		}
		x.writeTo(conn)
		if _, err := in.Discard(unread); err != nil || x.lastOne() {
			return
		}
	}
}

func (r *toyRouter) answer(x *exchange) {
	handler := toyHandler(func(*exchange) error { return toyStatus(404) })
	path, _, _ := strings.Cut(x.target, "?")
	for pattern, route := range r.routes {
		start, open := strings.CutSuffix(pattern, "*")
		if rest, found := strings.CutPrefix(path, start); found && (open || rest == "") {
			x.pattern, x.rest, handler = pattern, rest, route
		}
	}
	if err := layered(r.around, handler)(x); err != nil {
		x.status, x.body = toyStatusOf(err), "sorry"
	}
}

func toyStatusOf(err error) int {
	if status, ok := err.(toyStatus); ok {
		return int(status)
	}
	return 500
}

func readExchange(in *bufio.Reader) (*exchange, error) {
	lines := textproto.NewReader(in)
	first, err := lines.ReadLine()
	if err != nil {
		return nil, err
	}
	x := &exchange{ctx: context.Background()}
	if _, err := fmt.Sscan(first, &x.verb, &x.target, &x.version); err != nil {
		return nil, err
	}
	for {
		line, err := lines.ReadLine()
		if err != nil || line == "" {
			return x, err
		}
		name, value, _ := strings.Cut(line, ":")
		x.asked = append(x.asked, toyField{name, strings.TrimSpace(value)})
	}
}

// bodyLength is -1 if it is not known.
func (x *exchange) bodyLength() int {
	length := 0
	for _, f := range x.asked {
		switch {
		case strings.EqualFold(f.name, "Transfer-Encoding"):
			return -1
		case strings.EqualFold(f.name, "Content-Length"):
			length, _ = strconv.Atoi(f.value)
		}
	}
	return length
}

func (x *exchange) lastOne() bool {
	return slices.Contains(x.asked, toyField{"Connection", "close"})
}

func (x *exchange) writeTo(conn net.Conn) {
	out := bufio.NewWriter(conn)
	defer out.Flush()
	status := x.status
	if status == 0 {
		status = 200
	}
	fmt.Fprintf(out, "HTTP/1.1 %d \r\n", status)
	for _, f := range x.answered {
		fmt.Fprintf(out, "%s: %s\r\n", f.name, f.value)
	}
	if status == 204 || status == 304 {
		fmt.Fprint(out, "\r\n")
		return
	}
	fmt.Fprintf(out, "Content-Length: %d\r\n\r\n", len(x.body))
	if x.verb != "HEAD" {
		fmt.Fprint(out, x.body)
	}
}
