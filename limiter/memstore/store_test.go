package memstore_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/memstore"
)

func TestStore(t *testing.T) {
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return limitertest.Harness{Store: store, Advance: memstore.StopClock(store)}
	})
}

func TestNewRefusesNegativeMaxKeys(t *testing.T) {
	store, err := memstore.New(memstore.Config{MaxKeys: -1})
	if store != nil || err == nil || !strings.Contains(err.Error(), "MaxKeys is -1") {
		t.Errorf("got %v, %v, want an error that names MaxKeys", store, err)
	}
}

func TestStatsTellTheName(t *testing.T) {
	store, err := memstore.New(memstore.Config{Name: "visits"})
	if err != nil {
		t.Fatal(err)
	}
	if got := store.Stats().Name; got != "visits" {
		t.Errorf("got %q, want visits", got)
	}
}

// TestTakeValidates: Take does not validate a limit that it has seen before, and must agree with Validate.
func TestTakeValidates(t *testing.T) {
	store := newStore(t, 0)
	const day = 24 * time.Hour
	edges := []int64{
		math.MinInt64, -1, 0, 1, 99_999, 100_000, 100_001, 142_808, 142_809,
		1e9 - 1, 1e9, 1e9 + 1, 1<<30 - 1, 1 << 30, math.MaxInt64,
	}
	windows := []time.Duration{0, 1, time.Millisecond, time.Second, 365 * day, 366 * day, 367 * day}
	valid := 0
	for _, algorithm := range append(algorithms, 5, 255) {
		for _, window := range windows {
			for _, requests := range edges {
				for _, burst := range edges {
					l := limiter.Limit{Requests: requests, Window: window, Algorithm: algorithm, Burst: burst}
					want := l.Validate()
					if want == nil {
						valid++
					}
					_, err := store.Take(context.Background(), one("key", l, 0)[:])
					if fmt.Sprint(err) != fmt.Sprint(want) {
						t.Errorf("Take with %+v: got error %v, want %v", l, err, want)
					}
					err = store.Reset(context.Background(), one("key", l, 0)[:])
					if fmt.Sprint(err) != fmt.Sprint(want) {
						t.Errorf("Reset with %+v: got error %v, want %v", l, err, want)
					}
				}
			}
		}
	}
	if valid == 0 {
		t.Error("no limit of the table is valid")
	}
}
