package limitertest_test

import (
	"testing"

	"github.com/httplimit/httplimit/limiter/limitertest"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// The test of a store is one function. With a clock that can be moved, set Advance too: a third of the cases need it.
func ExampleRun() {
	TestStore := func(t *testing.T) {
		limitertest.Run(t, func(t *testing.T) limitertest.Harness {
			store, err := memstore.New(memstore.Config{MaxKeys: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return limitertest.Harness{Store: store}
		})
	}
	_ = TestStore // go test calls it
}
