package main

import (
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
