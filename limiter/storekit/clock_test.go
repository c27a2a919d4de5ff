package storekit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

func TestClockFollowsTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c := storekit.NewClock(nil)
		time.Sleep(1500 * ms)
		if got, want := c.Now(), 1500*ms; got != want {
			t.Errorf("Now: got %v, want %v", got, want)
		}
		if got, want := c.UnixMilli(c.Now()), start.UnixMilli()+1500; got != want {
			t.Errorf("UnixMilli: got %d, want %d", got, want)
		}
	})
}

func TestClockNeverGoesBack(t *testing.T) {
	start := time.UnixMilli(1_800_000_000_000)
	for _, tc := range []struct {
		name     string
		readings []time.Duration // of the function given, from start
		want     []time.Duration
	}{
		{"forward", []time.Duration{0, 1, 5}, []time.Duration{0, 1, 5}},
		{"a step back is absorbed", []time.Duration{10, 4, 5, 10, 11}, []time.Duration{10, 10, 11, 16, 17}},
		{"to before the start", []time.Duration{-100, -99}, []time.Duration{0, 1}},
		{"two steps back", []time.Duration{10, 5, 0, 1}, []time.Duration{10, 10, 10, 11}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := start
			c := storekit.NewClock(func() time.Time { return now })
			for i, reading := range tc.readings {
				now = start.Add(reading)
				got := c.Now()
				if got != tc.want[i] {
					t.Errorf("reading %d at %d: got %d, want %d", i, reading, got, tc.want[i])
				}
				if got, want := c.UnixMilli(got), start.Add(tc.want[i]).UnixMilli(); got != want {
					t.Errorf("reading %d: UnixMilli: got %d, want %d", i, got, want)
				}
			}
		})
	}
}
