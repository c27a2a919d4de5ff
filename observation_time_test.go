package httplimit_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// timesTold is an Observer that keeps the times.
type timesTold struct{ times []time.Time }

func (o *timesTold) Observe(_ context.Context, told *httplimit.Observation) {
	o.times = append(o.times, told.Time)
}

// TestObservationTime: the moment of the decision, also where no rule applied, and where the limit of 0 refused.
func TestObservationTime(t *testing.T) {
	never := ip(limiter.PerDay(5))
	never.When = func(*http.Request) bool { return false }
	synctest.Test(t, func(t *testing.T) {
		for name, rule := range map[string]httplimit.Rule{
			"counted":  ip(limiter.PerDay(5)),
			"refused":  ip(limiter.PerDay(0)),
			"no rules": never,
		} {
			told := &timesTold{}
			m := mustNew(t, httplimit.Config{Observer: told, Rules: []httplimit.Rule{rule}})
			for range 2 {
				time.Sleep(7 * time.Second)
				serve(m, "192.0.2.7:1")
				if got := told.times[len(told.times)-1]; !got.Equal(time.Now()) {
					t.Errorf("%s: got %v, want %v", name, got, time.Now())
				}
			}
		}
	})
}
