package console

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// hanging is a store that answers nothing until it is closed, whatever the context says.
type hanging struct {
	until chan struct{}
	calls atomic.Int64
}

func (h *hanging) Take(context.Context, []limiter.Charge) (bool, error) {
	h.calls.Add(1)
	<-h.until
	return false, errors.New("closed")
}

func (h *hanging) Reset(context.Context, []limiter.Charge) error {
	h.calls.Add(1)
	<-h.until
	return errors.New("closed")
}

// withHanging runs a test, on a clock that does not wait, of a site with the rule "good", and the rule "bad" with a
// store that hangs.
func withHanging(t *testing.T, test func(t *testing.T, s *site, store *hanging)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &hanging{until: make(chan struct{})}
		defer close(store.until)
		s := newSite(t, byAddress("good", limiter.PerDay(10)))
		other, err := httplimit.New(httplimit.Config{
			Namespace: "shop", Store: store, Rules: []httplimit.Rule{byAddress("bad", limiter.PerDay(10))},
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Watch(other)
		test(t, s, store)
	})
}

// A store that ignores every time-out holds nobody for longer than askTime, nor what other stores say.
func TestLookupOfAStoreThatHangs(t *testing.T) {
	withHanging(t, func(t *testing.T, s *site, store *hanging) {
		who := form("shape", shapeOf(t, s, "ip"), "part", "192.0.2.7")
		for range 5 * maxAsked {
			began := time.Now()
			var f found
			w := s.post("api/client.json", who, "")
			if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil || len(f.Results) != 2 ||
				f.Results[0].State != "allowed" || f.Results[0].Verdicts[0].Remaining != 10 ||
				f.Results[1].State != "unknown" || f.Results[1].Error != "not answered in time" {
				t.Fatalf("got %s, %v, want good allowed, bad not answered in time", w.Body, err)
			}
			if took := time.Since(began); took != askTime {
				t.Fatalf("it took %v, want %v", took, askTime)
			}
		}
		if calls := store.calls.Load(); calls != maxAsked {
			t.Errorf("the store was called %d times, want %d, and no more until it answers", calls, maxAsked)
		}
		w := s.post("client", who, "alice")
		mustContain(t, w, "not answered in time", "not known", "passes")
	})
}

func TestResetOfAStoreThatHangs(t *testing.T) {
	withHanging(t, func(t *testing.T, s *site, _ *hanging) {
		began := time.Now()
		w := s.post("api/reset.json", form("shape", shapeOf(t, s, "ip"), "part", "192.0.2.7"), "alice")
		if want := `rule \"bad\": not answered in time`; w.Code != http.StatusBadGateway ||
			!strings.Contains(w.Body.String(), want) {
			t.Errorf("got %d %s, want 502 with %s", w.Code, w.Body, want)
		}
		if took := time.Since(began); took != askTime {
			t.Errorf("it took %v, want %v", took, askTime)
		}
		acts := s.acts.list()
		if len(acts) != 2 || acts[1].Error != "" || !strings.Contains(acts[0].Error, "not answered in time") {
			t.Errorf("got %+v, want good reset, and bad with its error", acts)
		}
	})
}

// What goes wrong in a call stays in it.
func TestAskAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := []func(context.Context) (int, error){
			func(context.Context) (int, error) { return 1, nil },
			func(context.Context) (int, error) { panic("a key") },
			func(context.Context) (int, error) { runtime.Goexit(); return 0, nil },
			func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
			func(context.Context) (int, error) { return 5, errors.New("away") },
		}
		p := make(places, 2)
		var calls []call[int]
		for _, ask := range asks {
			calls = append(calls, call[int]{p, ask})
		}
		ended, end := context.WithCancel(t.Context())
		end() // the viewer has left
		answers := askAll(ended, calls)
		for i, want := range []string{
			"", "asking the store panicked: a string", errNotInTime.Error(), errNotInTime.Error(), "away",
		} {
			if got := answers[i].err; got == nil && want != "" || got != nil && !strings.Contains(got.Error(), want) {
				t.Errorf("%d: got %v, want %q", i, got, want)
			}
		}
		if answers[0].value != 1 {
			t.Errorf("got %d, want 1", answers[0].value)
		}
		synctest.Wait()
		if len(p) != 0 {
			t.Errorf("%d places are taken, want none", len(p))
		}
	})
}
