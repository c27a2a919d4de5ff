package kvstore_test

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/limitertest"
)

var (
	_ limiter.Store   = (*kvstore.Store)(nil)
	_ limiter.Checker = (*kvstore.Store)(nil)
)

// patient is a Timeout that no slow test machine exceeds, and short enough for previous windows to be remembered.
const patient = 5 * time.Second

func newStore(t *testing.T, kv kvstore.KV, cfg kvstore.Config) *kvstore.Store {
	t.Helper()
	store, err := kvstore.New(kv, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestConformance(t *testing.T) {
	for name, cfg := range map[string]kvstore.Config{
		"with deny cache": {},
		"without":         {DenyCache: -1},
		"direct":          {Direct: true},
	} {
		t.Run(name, func(t *testing.T) {
			limitertest.Run(t, func(t *testing.T) limitertest.Harness {
				clock := newHand()
				cfg.Timeout, cfg.Now = patient, clock.Now
				return limitertest.Harness{
					Store:      newStore(t, newMapKV(clock.Now), cfg),
					Advance:    clock.Advance,
					Algorithms: []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow},
				}
			})
		})
	}
}
