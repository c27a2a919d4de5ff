package faults_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/redisstore"
)

// A server that denies writes still refuses who is over the limit, under FailOpen too, while eight others keep asking
// for units: their requests are undecided, and pass.
func TestDeniedWritesLetNoOffenderThrough(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name        string
		fault, heal func(*testing.T, *rig)
	}{
		{"OOM", set("maxmemory", "1"), set("maxmemory", "0")},
		{"READONLY", command("REPLICAOF", "127.0.0.1", "1"), command("REPLICAOF", "NO", "ONE")},
		{"NOREPLICAS", set("min-replicas-to-write", "1"), set("min-replicas-to-write", "0")},
		{"MISCONF", cannotSave, set("stop-writes-on-bgsave-error", "no")},
	} {
		t.Run(row.name, func(t *testing.T) {
			beside(t)
			const limit, requests = 10, 242
			r := startRedis(t, options{server: []string{"--dir", t.TempDir()}})
			// Without the deny cache every request asks.
			store := redisStore(t, r.client, redisstore.Config{Timeout: timeout, DenyCache: -1})
			m, err := httplimit.New(httplimit.Config{
				Store: store, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
				Rules: []httplimit.Rule{{
					Name: "open", Key: httplimit.Header("X-Client"), Limit: limiter.PerDay(limit), Failure: httplimit.FailOpen,
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			handler := m.Handler(http.HandlerFunc(answer))
			ask := func(client string) (status int, decided bool) {
				request := httptest.NewRequest(http.MethodGet, "/", nil)
				request.Header.Set("X-Client", client)
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, request)
				return w.Code, w.Header().Get("Ratelimit") != ""
			}
			for range limit {
				ask("offender")
			}
			row.fault(t, r)
			var over atomic.Bool
			var undecided atomic.Int64
			var others sync.WaitGroup
			for i := range 8 {
				others.Go(func() {
					for n := 0; !over.Load(); n++ {
						status, decided := ask(fmt.Sprint(i, "-", n))
						if status != http.StatusOK || decided {
							t.Errorf("a client with units left: got %d, decided %v, want it to pass undecided", status, decided)
						}
						undecided.Add(1)
					}
				})
			}
			through := 0
			for range requests {
				if status, _ := ask("offender"); status != http.StatusTooManyRequests {
					through++
				}
			}
			// Then the others are alone, for longer than a breaker takes to open: a denial is an answer.
			time.Sleep(3 * timeout)
			if status, _ := ask("offender"); status != http.StatusTooManyRequests {
				t.Errorf("the offender after others were alone: got %d, want 429", status)
			}
			over.Store(true)
			others.Wait()
			if through > 0 || undecided.Load() == 0 {
				t.Errorf("%d of %d requests beyond the limit got through beside %d others, want none beside some",
					through, requests, undecided.Load())
			}
			if !store.Healthy() {
				t.Error("not healthy, although the server answers")
			}
			row.heal(t, r)
			for start := time.Now(); ; {
				if _, decided := ask("another"); decided {
					break
				}
				if time.Since(start) > patience {
					t.Fatal("writes are allowed again, and no client is decided")
				}
			}
		})
	}
}

// cannotSave takes the folder away into which the server saves, which is one of the test's, and has it notice.
func cannotSave(t *testing.T, r *rig) {
	t.Helper()
	ctx := context.Background()
	folder, err := r.admin.ConfigGet(ctx, "dir").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder["dir"]); err != nil {
		t.Fatal(err)
	}
	r.do(t, "CONFIG", "SET", "save", "3600 1")
	r.do(t, "BGSAVE")
	servers.Await(t, "the server has failed to save", func() bool {
		info, err := r.admin.Info(ctx, "persistence").Result()
		return err == nil && strings.Contains(info, "rdb_last_bgsave_status:err")
	})
}
