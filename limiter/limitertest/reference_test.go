package limitertest

import (
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter/internal/refstore"
)

// newReference returns a store and a function that moves its clock.
func newReference() (*refstore.Store, func(time.Duration)) {
	var now atomic.Int64
	now.Store(time.Date(2026, 11, 20, 10, 0, 0, 123e6, time.UTC).UnixMilli())
	return refstore.New(now.Load), func(d time.Duration) { now.Add(d.Milliseconds()) }
}
