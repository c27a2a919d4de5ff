package kvstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
)

func TestLimitOfZeroCostsNoCall(t *testing.T) {
	clock := newClock()
	kv := newMapKV(clock.Now)
	store := newStore(t, kv, kvstore.Config{Now: clock.Now})
	clock.Advance(10 * time.Second) // away from the boundary, where a decision reads once more
	zero, five := charge(limiter.PerMinute(0), 1), charge(limiter.PerMinute(5), 1)
	shadow := zero
	shadow.Mode = limiter.Shadow
	batch := func(want bool, charges ...limiter.Charge) func() {
		return func() {
			if taken, err := store.Take(context.Background(), charges); taken != want || err != nil {
				t.Errorf("got %t, %v, want %t, nil", taken, err, want)
			}
		}
	}
	wantCalls(t, "a refusal", kv, calls{0, 0}, batch(false, zero))
	wantCalls(t, "a refusal of several", kv, calls{0, 0}, batch(false, five, zero))
	wantCalls(t, "in shadow, alone", kv, calls{0, 0}, batch(true, shadow))
	wantCalls(t, "in shadow, with another", kv, calls{1, 1}, batch(true, shadow, five))

	log := charge(limiter.Limit{Window: time.Minute, Algorithm: limiter.SlidingLog}, 1)
	if _, err := store.Take(context.Background(), []limiter.Charge{log}); !errors.Is(err, limiter.ErrUnsupported) {
		t.Errorf("a limit of 0 of an algorithm that the store does not run: got %v, want ErrUnsupported", err)
	}
}
