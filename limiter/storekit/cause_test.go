package storekit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

var (
	errTimeout = fmt.Errorf("no answer within 50ms: %w", context.DeadlineExceeded)
	errNoHost  = &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "redis"}}
	errStalled = &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	errDial    = &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
)

// fails reports that many failures over two time-outs and more, with those causes, the last of them again and again.
func fails(b *storekit.Breaker, causes ...error) {
	for i := range max(5, len(causes)) {
		at := time.Duration(i) * 25 * ms
		permit, _ := b.Begin(at)
		b.End(permit, at, storekit.Failed, causes[min(i, len(causes)-1)])
	}
}

func TestBreakerKeepsTheCause(t *testing.T) {
	for _, tc := range []struct {
		name   string
		causes []error
		want   error
	}{
		{"the first", []error{io.ErrUnexpectedEOF, errNoHost}, io.ErrUnexpectedEOF},
		{"not the latest time-out", []error{errNoHost, errTimeout}, errNoHost},
		{"the first that says more than that time was over", []error{errTimeout, errStalled, errNoHost, io.EOF}, errNoHost},
		{"that dialling took too long says that nothing was reached", []error{errTimeout, errDial, io.EOF}, errDial},
		{"a time-out where nothing else is known", []error{errTimeout, errStalled}, errTimeout},
		{"none", []error{nil}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := storekit.NewBreaker(timeout)
			fails(b, tc.causes...)
			if got := b.State(150 * ms).Cause; got != tc.want {
				t.Errorf("the state has the cause %v, want %v", got, tc.want)
			}
			_, err := b.Begin(150 * ms)
			if !errors.Is(err, storekit.ErrOpen) || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("got error %v, want one that wraps ErrOpen and %v", err, tc.want)
			}
		})
	}
}

func TestBreakerExplained(t *testing.T) {
	b := storekit.NewBreaker(timeout)
	b.Explain(errNoHost) // found out before the first call has failed
	b.Explain(io.EOF)
	fails(b, io.ErrUnexpectedEOF)
	if got := b.Cause(); got != errNoHost {
		t.Errorf("explained before: got the cause %v, want %v", got, errNoHost)
	}
	if !call(b, 200*ms, storekit.Succeeded) {
		t.Fatal("no probe may start")
	}
	if got := b.Cause(); got != nil {
		t.Errorf("after a success: got the cause %v, want none", got)
	}
	fails(b, io.ErrUnexpectedEOF)
	b.Explain(errNoHost)
	if got := b.Cause(); got != errNoHost {
		t.Errorf("explained after: got the cause %v, want %v", got, errNoHost)
	}
}

func TestUnavailableErrorSaysWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12*time.Hour + time.Second) // synctest begins at midnight UTC
		since := time.Now().Format(time.TimeOnly)
		b := storekit.NewBreaker(timeout)
		fails(b, errNoHost)
		_, err := b.Begin(137 * ms)
		want := "storekit: unavailable since " + since + ": dial tcp: lookup redis: no such host; next try in 63 ms"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v,\nwant %s", err, want)
		}
	})
	busy := (&storekit.UnavailableError{Err: storekit.ErrBusy}).Error()
	if want := "storekit: unavailable: too many calls are waiting for the server"; busy != want {
		t.Errorf("busy: got %s, want %s", busy, want)
	}
	bare := (&storekit.UnavailableError{Err: storekit.ErrOpen, RetryAfter: time.Second}).Error()
	if !strings.HasSuffix(bare, "is not asked; next try in 1000 ms") {
		t.Errorf("without a cause: got %s, want one that says so", bare)
	}
}

func TestBreakerState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := storekit.NewBreaker(timeout)
		same := func(when string, want storekit.BreakerState) {
			t.Helper()
			if got := b.State(150 * ms); got != want {
				t.Errorf("%s: got %+v, want %+v", when, got, want)
			}
		}
		same("before the first call", storekit.BreakerState{})
		time.Sleep(time.Hour)
		first := time.Now()
		call(b, 0, storekit.Succeeded)
		time.Sleep(time.Hour)
		call(b, 0, storekit.Failed)
		call(b, 0, storekit.Succeeded)
		same("well", storekit.BreakerState{Since: first})
		time.Sleep(time.Hour)
		failed := time.Now()
		fails(b, errNoHost)
		same("open", storekit.BreakerState{Open: true, Since: failed, Cause: errNoHost, NextProbe: failed.Add(50 * ms)})
		time.Sleep(time.Hour)
		call(b, 200*ms, storekit.Succeeded)
		same("well again", storekit.BreakerState{Since: time.Now()})
		var none *storekit.Breaker
		if got := none.State(0); got != (storekit.BreakerState{}) {
			t.Errorf("a nil breaker: got %+v, want nothing", got)
		}
	})
}

func TestBreakerHastened(t *testing.T) {
	b := opened(t)
	b.Hasten(110 * ms)
	if !call(b, 110*ms, storekit.Failed) {
		t.Fatal("no probe may start at once")
	}
	if call(b, 309*ms, storekit.Succeeded) || !call(b, 310*ms, storekit.Succeeded) {
		t.Error("after a hastened probe that failed: want the pause that follows the first, 200 ms")
	}
	b.Hasten(320 * ms)
	if b.Open() || !call(b, 320*ms, storekit.Succeeded) {
		t.Error("a closed breaker that was hastened is not closed any more")
	}
	var none *storekit.Breaker
	none.Hasten(0)
	none.Explain(errNoHost)
	if none.Cause() != nil {
		t.Error("a nil breaker has a cause")
	}
}

func TestBreakerThatNeverOpens(t *testing.T) {
	b := storekit.NeverOpen()
	fails(b, errNoHost)
	fails(b, errTimeout)
	if b.Open() || b.Cause() != errNoHost {
		t.Errorf("open %v, cause %v, want closed and %v", b.Open(), b.Cause(), errNoHost)
	}
}
