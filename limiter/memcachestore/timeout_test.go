package memcachestore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memcachestore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// brokenConn is a connection on which nothing can be read.
type brokenConn struct {
	net.Conn
	err error
}

func (brokenConn) Write(b []byte) (int, error) { return len(b), nil }
func (c brokenConn) Read([]byte) (int, error)  { return 0, c.err }
func (brokenConn) SetDeadline(time.Time) error { return nil }
func (brokenConn) Close() error                { return nil }

// A time-out is a time-out, in whichever form the client has it.
func TestTimeoutsOfTheClient(t *testing.T) {
	t.Parallel()
	inPhase := func(phase string, err error) error {
		return &net.OpError{Op: phase, Net: "tcp", Err: err}
	}
	for _, tc := range []struct {
		name string
		dial error
		read error
		want bool
	}{
		{"dialling takes too long", inPhase("dial", context.DeadlineExceeded), nil, true},
		{"the system gives up dialling", inPhase("dial", os.NewSyscallError("connect", syscall.ETIMEDOUT)), nil, true},
		{"looking up the name takes too long", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, nil, true},
		{"a dialler of the user's own", fmt.Errorf("tunnel: %w", os.ErrDeadlineExceeded), nil, true},
		{"reading takes too long", nil, inPhase("read", os.ErrDeadlineExceeded), true},
		{"the system gives up the connection", nil, inPhase("read", os.NewSyscallError("read", syscall.ETIMEDOUT)), true},
		{"refused", inPhase("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), nil, false},
		{"reset", nil, inPhase("read", os.NewSyscallError("read", syscall.ECONNRESET)), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := memcache.New("127.0.0.1:1") // not dialled
			client.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return brokenConn{err: tc.read}, tc.dial
			}
			store := newStore(t, client, memcachestore.Config{Timeout: patient, NoBreaker: true})
			c := charge(limiter.PerMinute(5), 1)
			_, takeErr := store.Take(t.Context(), []limiter.Charge{c})
			for name, err := range map[string]error{"Take": takeErr, "Reset": store.Reset(t.Context(), []limiter.Charge{c})} {
				if err == nil {
					t.Fatalf("%s: no error", name)
				}
				if got := errors.Is(err, context.DeadlineExceeded); got != tc.want {
					t.Errorf("%s: %v: wraps context.DeadlineExceeded: %v, want %v", name, err, got, tc.want)
				}
				if got := strings.Contains(err.Error(), "no answer in time"); got != tc.want {
					t.Errorf("%s: %v: reads as a time-out: %v, want %v", name, err, got, tc.want)
				}
			}
		})
	}
}

// The client has no deadlines but its own: a server that accepts connections and never answers holds it that long.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{false, true} {
		t.Run(fmt.Sprintf("direct %v", direct), func(t *testing.T) {
			t.Parallel()
			testSilentServer(t, direct)
		})
	}
}

func testSilentServer(t *testing.T, direct bool) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	client := newClient(t, &server{address: listener.Addr().String()})
	if direct {
		client.Timeout = 2 * time.Millisecond
	}
	store := newStore(t, client, memcachestore.Config{Timeout: 10 * time.Millisecond, Direct: direct})
	for i := range 100 {
		_, err := store.Take(context.Background(), []limiter.Charge{charge(limiter.PerMinute(5), 1)})
		var open *storekit.UnavailableError
		switch {
		case errors.As(err, &open):
			if open.RetryAfter <= 0 || open.RetryAfter > time.Second {
				t.Errorf("probes again in %v, want up to a second", open.RetryAfter)
			}
			return
		case !errors.Is(err, context.DeadlineExceeded):
			t.Fatalf("call %d: got %v, want an error that wraps context.DeadlineExceeded", i, err)
		}
	}
	t.Error("100 calls have waited for a server that never answers")
}
