package replay_test

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/limiter/limitertest"
)

func TestStore(t *testing.T) {
	limitertest.Run(t, func(*testing.T) limitertest.Harness {
		now := time.Date(2025, 3, 3, 9, 15, 0, 0, time.UTC)
		s := replay.NewStore()
		s.SetClock(now.UnixMilli())
		return limitertest.Harness{Store: s, Advance: func(d time.Duration) {
			now = now.Add(d)
			s.SetClock(now.UnixMilli())
		}}
	})
}
