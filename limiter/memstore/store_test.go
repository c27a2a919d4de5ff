package memstore_test

import (
	"testing"

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
