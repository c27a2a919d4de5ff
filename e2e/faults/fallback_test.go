package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// One of four processes counts without HTTP: a server that is killed and restarted costs it no error, and what it has
// counted by itself meanwhile is never given back to the server.
func TestFallbackWithoutHTTP(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		name  string
		start func(*testing.T, options) *rig
	}{{"redis", startRedis}, {"memcached", startMemcached}} {
		t.Run(kind.name, func(t *testing.T) {
			beside(t)
			// Longer than a server takes that is only busy.
			r := kind.start(t, options{direct: true, timeout: time.Second})
			local, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			f := fallback{store: storekit.WithFallback(r.store, local, 4)}

			byServer := f.take(t, 3)
			f.checkLeft(t, false, 5)

			r.server.Kill(t)
			byLocal := f.take(t, 1)
			f.checkLeft(t, true, 1)
			f.take(t, 1)
			f.checkLeft(t, true, 0)
			byServer.Cost = -3
			if _, err := f.store.Take(t.Context(), []limiter.Charge{byServer}); err == nil {
				t.Error("what the server was charged is given back without it: got no error")
			}
			f.checkLeft(t, true, 0)

			r.server.Restart(t)
			servers.Await(t, "the server decides again", func() bool { return !f.look(t).Local })
			f.checkLeft(t, false, 8) // it has forgotten
			f.take(t, 3)
			byLocal.Cost = -1
			if taken, err := f.store.Take(t.Context(), []limiter.Charge{byLocal}); !taken || err != nil {
				t.Errorf("what local was charged is given back: got %t, %v, want true, nil", taken, err)
			}
			f.checkLeft(t, false, 5)
			if got := f.store.(limiter.StatsReporter).Stats().Fallback; got.Decided < 5 || !got.Since.IsZero() {
				t.Errorf("stats: got %+v, want at least 5 batches decided, and no outage now", got)
			}
		})
	}
}

// fallback is a store over a server, with a limit of 8 a day.
type fallback struct{ store limiter.Store }

func (f fallback) ask(t *testing.T, cost int64, mode limiter.Mode) limiter.Charge {
	t.Helper()
	charges := []limiter.Charge{{Scope: "mail", Key: "alice", Limit: limiter.PerDay(8), Cost: cost, Mode: mode}}
	if taken, err := f.store.Take(context.Background(), charges); err != nil || !taken {
		t.Fatalf("%d units: got %t, %v, want true, nil", cost, taken, err)
	}
	return charges[0]
}

func (f fallback) take(t *testing.T, cost int64) limiter.Charge {
	t.Helper()
	return f.ask(t, cost, limiter.Enforce)
}

func (f fallback) look(t *testing.T) limiter.Charge {
	t.Helper()
	return f.ask(t, 1, limiter.Peek)
}

// checkLeft checks who decides, and what is left.
func (f fallback) checkLeft(t *testing.T, local bool, want int64) {
	t.Helper()
	if c := f.look(t); c.Local != local || c.Remaining != want {
		t.Errorf("got %d left, local %t, want %d, %t", c.Remaining, c.Local, want, local)
	}
}
