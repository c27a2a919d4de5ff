package frameworks_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// strikes is after how many refusals in an hour a user is banned for a day.
const strikes = 5

// banning is a rule that lets one request of a user pass, or any number with a large plan: so what is refused then is
// refused by a ban.
func banning() httplimit.Rule {
	large := limiter.Per(1_000_000, year)
	return httplimit.Rule{
		Name: "r", Key: httplimit.Header("X-User"), Limit: limiter.Per(1, year),
		Ban: httplimit.Ban{After: strikes, Within: time.Hour, For: 24 * time.Hour},
		LimitFunc: func(r *http.Request) (limiter.Limit, error) {
			if r.Header.Get("X-Plan") == "large" {
				return large, nil
			}
			return limiter.Per(1, year), nil
		},
	}
}

// process is one of those that share a store: a Middleware, and a server of the framework.
type process struct {
	m      *httplimit.Middleware
	client *http.Client
}

func startProcess(t *testing.T, f framework, store limiter.Store) process {
	t.Helper()
	m := httplimit.Must(httplimit.New(httplimit.Config{
		Store: store, Namespace: "bans", Instances: 2, Rules: []httplimit.Rule{banning()},
		Logger: slog.New(slog.DiscardHandler),
	}))
	at := listen(t, "tcp4")
	f.serve(t, at, app{onRoute: []*httplimit.Middleware{m}, item: byID, left: func() {}})
	return process{m, dial(t, at)}
}

// visit sends a request of a user, "" for none, and returns the status and Retry-After, 0 for none.
func (p process) visit(t *testing.T, user, plan string) (status int, retryAfter time.Duration) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host+"/items/7", nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.Header.Set("X-User", user)
	}
	r.Header.Set("X-Plan", plan)
	answer, _, err := send(p.client, r)
	if err != nil {
		t.Errorf("%s: %v", user, err)
		return 0, 0
	}
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	if want := fmt.Sprintf(`"r";r=0;t=%d`, seconds); seconds > 0 && answer.Header.Get("RateLimit") != want {
		t.Errorf("%s: RateLimit: got %q, want %q", user, answer.Header.Get("RateLimit"), want)
	}
	return answer.StatusCode, time.Duration(seconds) * time.Second
}

func (p process) want(t *testing.T, when, user, plan string, status int) {
	t.Helper()
	if got, _ := p.visit(t, user, plan); got != status {
		t.Fatalf("%s: got %d, want %d", when, got, status)
	}
}

// TestBansHoldInAllProcesses: with memory, which two Middlewares share here, and with Redis, which each reaches through
// a store of its own.
func TestBansHoldInAllProcesses(t *testing.T) {
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := servers.Redis(t)
	stores := map[string]func() limiter.Store{
		"memory": func() limiter.Store { return memory },
		"Redis":  func() limiter.Store { return redisOf(t, server.Addr(), 0) },
	}
	for name, store := range stores {
		for _, f := range frameworks() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				a, b := startProcess(t, f, store()), startProcess(t, f, store())
				if err := a.m.Reset(t.Context(), "r", "ann"); err != nil { // of the framework before
					t.Fatal(err)
				}
				testStrikes(t, a, b)
				testBan(t, a, b)
				for range 3 * strikes {
					a.visit(t, "", "")
				}
				b.want(t, "requests without a user are never banned", "", "large", http.StatusOK)
			})
		}
	}
}

// testStrikes leads to a ban of ann, by refusals in both processes.
func testStrikes(t *testing.T, a, b process) {
	t.Helper()
	a.want(t, "within the limit", "ann", "", http.StatusOK)
	for i := range strikes {
		a, b = b, a
		a.want(t, fmt.Sprint("with ", i, " strikes"), "ann", "large", http.StatusOK)
		a.want(t, fmt.Sprint("strike ", i+1), "ann", "", http.StatusTooManyRequests)
	}
}

// testBan looks at the ban of ann and lifts it.
func testBan(t *testing.T, a, b process) {
	t.Helper()
	const day = 24 * time.Hour
	for _, p := range []process{a, b} {
		if status, wait := p.visit(t, "ann", "large"); status != 429 || wait > day || wait < day-time.Hour {
			t.Errorf("banned: got %d and Retry-After %v, want 429 and what is left of a day", status, wait)
		}
		v, err := p.m.PeekLimit(t.Context(), "r", limiter.Per(1_000_000, year), "ann")
		if err != nil || v.Allowed || v.RetryAfter > day || v.RetryAfter < day-time.Hour {
			t.Errorf("PeekLimit: got %+v, %v, want refused for what is left of a day", v, err)
		}
		p.want(t, "somebody else", "bob", "large", http.StatusOK)
	}
	if err := a.m.Reset(t.Context(), "r", "ann"); err != nil {
		t.Fatal(err)
	}
	a.want(t, "after Reset", "ann", "large", http.StatusOK)
	servers.Await(t, "the other process to let in whom Reset has freed", func() bool {
		status, _ := b.visit(t, "ann", "large")
		return status == http.StatusOK
	})
}

// TestBansEndAtTheMillisecond: whoever begins them. The server's clock is moved, and the stores do not remember
// refusals on their own.
func TestBansEndAtTheMillisecond(t *testing.T) {
	for _, f := range frameworks() {
		t.Run(f.name, func(t *testing.T) {
			server, now := miniredis.RunT(t), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			server.ClockTTL(true)
			server.SetTime(now)
			advance := func(d time.Duration) { now = now.Add(d); server.SetTime(now) }
			a := startProcess(t, f, redisOf(t, server.Addr(), -1))
			b := startProcess(t, f, redisOf(t, server.Addr(), -1))
			for round := range 2 {
				var all sync.WaitGroup
				for i := range 64 { // all after one are refused
					all.Go(func() { []process{a, b}[i%2].visit(t, "ann", "") })
				}
				all.Wait()
				advance(24*time.Hour - time.Millisecond)
				for _, p := range []process{a, b} {
					if status, wait := p.visit(t, "ann", "large"); status != 429 || wait != time.Second {
						t.Errorf("round %d, a millisecond before the end: got %d and Retry-After %v, want 429 and 1s",
							round, status, wait)
					}
				}
				advance(time.Millisecond)
				for _, p := range []process{a, b} {
					p.want(t, "when the ban ends", "ann", "large", http.StatusOK)
				}
				for range strikes - 1 {
					a.want(t, "a strike", "ann", "", http.StatusTooManyRequests)
				}
				b.want(t, "with no strikes from before the ban", "ann", "large", http.StatusOK)
				advance(time.Hour)
			}
		})
	}
}

func redisOf(t *testing.T, addr string, denyCache int) limiter.Store {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	// A time-out that only a broken store reaches.
	store, err := redisstore.New(client, redisstore.Config{Timeout: 30 * time.Second, DenyCache: denyCache})
	if err != nil {
		t.Fatal(err)
	}
	return store
}
