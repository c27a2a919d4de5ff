package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

func countStatus(cfg *httplimit.Config) {
	cfg.Rules[0].CountStatus = func(int) bool { return true }
}

func expose(cfg *httplimit.Config) { cfg.Expose = true }

// observe adds an Observer that looks at all that it is told, as one for metrics does.
func observe(cfg *httplimit.Config) { cfg.Observer = &tally{} }

// tally counts decisions by result and adds up their costs. It is not safe for concurrent use.
type tally struct {
	decisions [7]int64 // by httplimit.Result
	cost      int64
	store     time.Duration
}

func (t *tally) Observe(_ context.Context, o *httplimit.Observation) {
	t.store += o.Store
	for i := range o.Rules {
		r := &o.Rules[i]
		t.decisions[r.Result]++
		t.cost += r.Cost
	}
}

// serveRules is an allowed request that three rules apply to.
func serveRules(change func(*httplimit.Config)) func() (operation, error) {
	return func() (operation, error) {
		cfg := httplimit.Config{Rules: []httplimit.Rule{
			{Name: "ip", Key: httplimit.ClientIP(), Limit: limiter.Per(plenty, time.Hour)},
			{Name: "tenant", Key: httplimit.Header("X-Tenant"), Limit: limiter.Per(plenty, time.Minute)},
			{Name: "all", Key: httplimit.Everyone(), Limit: limiter.Per(plenty, time.Second)},
		}}
		if change != nil {
			change(&cfg)
		}
		m, err := httplimit.New(cfg)
		if err != nil {
			return nil, err
		}
		h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Tenant", "acme")
		w := &answer{header: make(http.Header)}
		return func() error {
			clear(w.header)
			h.ServeHTTP(w, r)
			return same(w.status, http.StatusNoContent)
		}, nil
	}
}

// answer is a ResponseWriter that keeps the status only.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(status int)      { a.status = status }
