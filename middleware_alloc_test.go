package httplimit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// discard is a ResponseWriter that costs nothing itself.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func TestHandlerAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	year := 366 * 24 * time.Hour // no window boundary comes in between
	tests := map[string]struct {
		limit   limiter.Limit
		percent int
		count   func(int) bool
		want    float64 // the values stand in an arena, which is made for many requests at once
	}{
		"allowed":        {limiter.Per(1_000_000, year), 0, nil, 0},
		"refused":        {limiter.Per(1, year), 0, nil, 0},
		"in its Percent": {limiter.Per(1, year), 99, nil, 0},
		"outside of it":  {limiter.Per(1, year), 1, nil, 0},
		// One for the writer that the handler gets.
		"watched": {limiter.Per(1_000_000, year), 0, func(int) bool { return true }, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			m, err := New(Config{Rules: []Rule{{
				Name: "ip", Key: ClientIP(), Limit: tt.limit, Percent: tt.percent, CountStatus: tt.count,
			}}})
			if err != nil {
				t.Fatal(err)
			}
			h := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			ctx, cancel := context.WithCancel(t.Context()) // those of a server can be cancelled
			defer cancel()
			w, r := discard{http.Header{}}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			h.ServeHTTP(w, r)
			if got := testing.AllocsPerRun(1000, func() { clear(w.header); h.ServeHTTP(w, r) }); got > tt.want {
				t.Errorf("got %v allocations a request, want at most %v", got, tt.want)
			}
		})
	}
}

// TestReusedMemoryHoldsNoKey: nor does the memory of a rule that turns out not to apply.
func TestReusedMemoryHoldsNoKey(t *testing.T) {
	skip := func(*http.Request) (int64, error) { return 0, ErrSkip }
	key := KeyFunc(func(*http.Request) (string, error) { return "alice", nil })
	m, err := New(Config{Rules: []Rule{
		{
			Name:  "applies",
			Key:   key,
			Limit: limiter.PerDay(5),
		}, {Name: "skipped", Key: key, Limit: limiter.PerDay(5), Cost: skip},
	}})
	if err != nil {
		t.Fatal(err)
	}
	o := &Outcome{}
	o.own.r = httptest.NewRequest(http.MethodGet, "/", nil)
	o.check(m, &o.own, false)
	if len(o.decision.charges) != 1 || o.decision.charges[0].Key != "alice" {
		t.Fatalf("got the charges %+v, want one of alice", o.decision.charges)
	}
	o.Settle(http.StatusOK)
	for _, c := range o.decision.charges[:cap(o.decision.charges)] {
		if c.Key != "" {
			t.Errorf("the memory still holds the key %q", c.Key)
		}
	}
}
