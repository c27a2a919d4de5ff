package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/faults/proxy"
)

// startEcho starts a server that answers each line with the same line, and returns its address.
func startEcho(t *testing.T, mark string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					fmt.Fprintf(conn, "%s%s\n", mark, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

// caller is a client of the server, through the proxy.
type caller struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, p *proxy.Proxy) caller {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return caller{conn, bufio.NewReader(conn)}
}

// ask returns the answer, "gone" for a connection that ended, or "silence" after a while without either.
func (c caller) ask(t *testing.T, line string, patience time.Duration) string {
	t.Helper()
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "gone"
	}
	return c.read(t, patience)
}

func (c caller) read(t *testing.T, patience time.Duration) string {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	answer, err := c.lines.ReadString('\n')
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "silence"
	case err != nil:
		return "gone"
	}
	return strings.TrimSuffix(answer, "\n")
}

const (
	soon = 50 * time.Millisecond // silence is waited for so long
	long = 20 * time.Second      // and answers so long, on a busy machine
)

func TestHoldPassesOnWhatItHeld(t *testing.T) {
	p := proxy.New(t, startEcho(t, ""))
	old := dial(t, p)
	if got := old.ask(t, "a", long); got != "a" {
		t.Fatalf("without a fault: got %q, want a", got)
	}
	p.Set(proxy.Fault{Hold: true})
	fresh := dial(t, p)
	for name, c := range map[string]caller{"an open connection": old, "a new connection": fresh} {
		if got := c.ask(t, "b", soon); got != "silence" {
			t.Errorf("%s in a black hole: got %q, want silence", name, got)
		}
	}
	p.Set(proxy.Fault{})
	for name, c := range map[string]caller{"an open connection": old, "a new connection": fresh} {
		if got := c.read(t, long); got != "b" {
			t.Errorf("%s afterwards: got %q, want b", name, got)
		}
	}
}

func TestAnswersByTheirRequest(t *testing.T) {
	p := proxy.New(t, startEcho(t, ""))
	release := make(chan struct{})
	p.Set(proxy.Fault{Answer: func(request []byte) proxy.Action {
		switch string(request) {
		case "lose\n":
			return proxy.Action{Lose: true}
		case "wait\n":
			return proxy.Action{Until: release}
		case "delay\n":
			return proxy.Action{Delay: soon}
		}
		return proxy.Action{}
	}})
	c := dial(t, p)
	if got := c.ask(t, "a", long); got != "a" {
		t.Errorf("another request: got %q, want a", got)
	}
	start := time.Now()
	if got := c.ask(t, "delay", long); got != "delay" || time.Since(start) < soon {
		t.Errorf("delayed: got %q after %v, want it after %v", got, time.Since(start), soon)
	}
	if got := c.ask(t, "wait", soon); got != "silence" {
		t.Errorf("before its release: got %q, want silence", got)
	}
	close(release)
	if got := c.read(t, long); got != "wait" {
		t.Errorf("after its release: got %q, want wait", got)
	}
	if got := c.ask(t, "lose", long); got != "gone" {
		t.Errorf("lost: got %q, want gone", got)
	}
}

func TestConnectionsThatAreOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		fault func(*proxy.Proxy)
		want  string
	}{
		"half closed": {(*proxy.Proxy).HalfClose, "gone"},
		"mute":        {(*proxy.Proxy).Mute, "silence"},
	} {
		t.Run(name, func(t *testing.T) {
			p := proxy.New(t, startEcho(t, ""))
			c := dial(t, p)
			c.ask(t, "a", long)
			tc.fault(p)
			if got := c.ask(t, "b", soon); got != tc.want {
				t.Errorf("an open connection: got %q, want %q", got, tc.want)
			}
			if got := dial(t, p).ask(t, "c", long); got != "c" {
				t.Errorf("a new connection: got %q, want c", got)
			}
		})
	}
}

func TestRedirect(t *testing.T) {
	p := proxy.New(t, startEcho(t, "one "))
	old := dial(t, p)
	old.ask(t, "a", long)
	p.Redirect(startEcho(t, "two "))
	if got := old.ask(t, "b", long); got != "one b" {
		t.Errorf("an open connection: got %q, want one b", got)
	}
	if got := dial(t, p).ask(t, "b", long); got != "two b" {
		t.Errorf("a new connection: got %q, want two b", got)
	}
}

func TestOpenCountsConnections(t *testing.T) {
	p := proxy.New(t, startEcho(t, ""))
	first, second := dial(t, p), dial(t, p)
	first.ask(t, "a", long)
	second.ask(t, "a", long)
	if got := p.Open(); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	first.Close()
	second.Close()
	for start := time.Now(); p.Open() > 0; time.Sleep(time.Millisecond) {
		if time.Since(start) > long {
			t.Fatalf("%d are open after their clients have closed them, want 0", p.Open())
		}
	}
}

func TestServerThatIsAway(t *testing.T) {
	p := proxy.New(t, "127.0.0.1:1") // a port that only root may take, where no server listens
	if got := dial(t, p).ask(t, "a", long); got != "gone" {
		t.Errorf("got %q, want a connection that ends", got)
	}
}
