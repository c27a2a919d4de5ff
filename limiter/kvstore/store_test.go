package kvstore_test

import (
	"testing"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/limitertest"
)

var (
	_ limiter.Store   = (*kvstore.Store)(nil)
	_ limiter.Checker = (*kvstore.Store)(nil)
)

func TestConformance(t *testing.T) {
	for name, cfg := range map[string]kvstore.Config{
		"with deny cache": {DenyCache: 1024}, // the default of 65,536 takes long to allocate
		"without":         {DenyCache: -1},
		"direct":          {DenyCache: 1024, Direct: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limitertest.Run(t, func(t *testing.T) limitertest.Harness {
				clock := newClock()
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
