package kvstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// defaultTimeout is far above what a server in the same network needs, and far below what a visitor notices.
	defaultTimeout = 50 * time.Millisecond
	// defaultSkew is far above the few milliseconds by which hosts with NTP differ.
	defaultSkew = 100 * time.Millisecond
)

// Config says how a [Store] deals with its KV. The zero value works.
type Config struct {
	// Timeout is how long a decision may take in all; 0 means 50 ms. Then it fails, also if the KV ignores its
	// context.
	Timeout time.Duration
	// DenyCache is how many refusals are remembered, see [storekit.DenyCache]: 0 means 65,536, below 0 none.
	DenyCache int
	// NoBreaker makes every decision ask the KV, also while it fails. See [storekit.Breaker].
	NoBreaker bool
	// Direct calls the KV in the caller's goroutine. That saves some 3 µs a decision, and is for a KV whose methods
	// return when their context ends: one that does not holds the caller. A decision whose time is over gives
	// nothing back then: what it had added stays spent until the window is over.
	Direct bool
	// Now is a clock for tests; nil means the system's. Where it goes back the store's time stands still for
	// that step, see [storekit.NewClock]. Timeout is always real time.
	Now func() time.Time
	// Skew is how far the clocks of the processes that share the KV may be apart; 0 means 100 ms. Counts live
	// longer by it, and a SlidingWindow asks more within it of the turn of a window. See the package comment
	// for what happens beyond.
	Skew time.Duration
}

// New returns a store over kv. It does not call kv.
func New(kv KV, cfg Config) (*Store, error) {
	var faults []error
	if kv == nil {
		faults = append(faults, errors.New("kvstore: kv is nil, want a KV"))
	}
	if cfg.Timeout < 0 {
		faults = append(faults, fmt.Errorf("kvstore: Timeout is %v, want 0 (for %v) or more", cfg.Timeout, defaultTimeout))
	}
	if cfg.Skew < 0 {
		faults = append(faults, fmt.Errorf("kvstore: Skew is %v, want 0 (for %v) or more", cfg.Skew, defaultSkew))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Skew == 0 {
		cfg.Skew = defaultSkew
	}
	s := &Store{
		kv:      kv,
		timeout: cfg.Timeout,
		skew:    cfg.Skew,
		clock:   storekit.NewClock(cfg.Now),
		trips:   storekit.NewTrips(0),
		cache:   storekit.NewDenyCache(cfg.DenyCache),
		memory:  newMemory(),
		direct:  cfg.Direct,
	}
	if !cfg.NoBreaker {
		s.breaker = storekit.NewBreaker(cfg.Timeout)
	}
	return s, nil
}
