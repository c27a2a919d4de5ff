package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// asks has a viewer ask n times for a page, or to look somebody up, and returns how often that was answered.
func (s *site) asks(t *testing.T, n int, operator, address string, looksUp bool) (answered int) {
	t.Helper()
	who := form("rule", ruleID("shop", "address"), "key", "192.0.2.7").Encode()
	for range n {
		r := httptest.NewRequest(http.MethodGet, "http://ops.example/activity", nil)
		if looksUp {
			r = httptest.NewRequest(http.MethodPost, "http://ops.example/client", strings.NewReader(who))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		r.RemoteAddr = address
		if operator != "" {
			r.Header.Set("X-Operator", operator)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch {
		case w.Code == http.StatusOK:
			answered++
		case w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1":
			t.Fatalf("got %d with Retry-After %q, want 429 with 1", w.Code, w.Header().Get("Retry-After"))
		}
	}
	return answered
}

// One viewer, whatever it asks, leaves half of the page's own limits to the others, who are told apart by their names
// where they are operators and else by their addresses. All of them together have no more than those limits.
func TestOwnLimits(t *testing.T) {
	for _, kind := range []struct {
		name    string
		looksUp bool
		most    int // at once, by all viewers
		refill  int // a second
	}{{"pages", false, 200, 50}, {"lookups", true, 40, 10}} {
		t.Run(kind.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, byAddress("address", limiter.PerDay(1e6)))
				for _, viewer := range []struct {
					operator, address string
					want              int
				}{
					{"", "192.0.2.1:1", kind.most / 2},
					{"", "192.0.2.1:2", 0},                     // the same address
					{"", "[::ffff:192.0.2.1]:3", 0},            // likewise
					{"alice", "192.0.2.1:1", kind.most/2 - 10}, // asks for fewer
					{"bob", "192.0.2.1:1", 10},                 // what all together have left
					{"", "[2001:db8::1]:1", 0},
				} {
					n := 3 * kind.most
					if viewer.operator == "alice" {
						n = viewer.want
					}
					if got := s.asks(t, n, viewer.operator, viewer.address, kind.looksUp); got != viewer.want {
						t.Errorf("%+v was answered %d times", viewer, got)
					}
				}
				if got := s.request("192.0.2.7"); got != http.StatusOK {
					t.Errorf("got %d for a client of the service, want 200", got)
				}
				time.Sleep(time.Second)
				want := min(10+kind.refill/2, kind.refill) // what she had left and gets, and no more than all have
				if got := s.asks(t, 100, "alice", "192.0.2.1:1", kind.looksUp); got != want {
					t.Errorf("alice was answered %d times a second later, want %d", got, want)
				}
			})
		})
	}
}

// A viewer has as many addresses as an IPv6 network, but one share.
func TestOwnLimitsOfANetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, byAddress("address", limiter.PerDay(1e6)))
		answered := 0
		for i := range 100 {
			answered += s.asks(t, 1, "", fmt.Sprintf("[2001:db8::%x%%eth0]:1", i+1), true)
		}
		if answered != 20 {
			t.Errorf("a network was answered %d times, want 20", answered)
		}
	})
}

// However many viewers there are, what is known of them is bounded.
func TestOwnLimitsInACrowd(t *testing.T) {
	own, err := newOwnLimits()
	if err != nil {
		t.Fatal(err)
	}
	before := heapNow()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := range 200_000 {
		own.admit(httptest.NewRecorder(), r, fmt.Sprint("operator ", i), i%2 == 0)
	}
	if grown := int64(heapNow()) - int64(before); grown > 1<<19 {
		t.Errorf("the heap has grown by %d bytes, want 512 kB at most", grown)
	}
	runtime.KeepAlive(own)
}

func heapNow() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
