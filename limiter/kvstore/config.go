package kvstore

import (
	"errors"
	"fmt"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// defaultTimeout is far above the time that a server in the same network needs, and far below what a visitor notices.
	defaultTimeout = 50 * time.Millisecond
	// defaultSkew is far above the few milliseconds by which hosts with NTP differ.
	defaultSkew = 100 * time.Millisecond
)

// Config holds the settings of a [Store]. The zero value works.
type Config struct {
	// Timeout is the longest time for a decision, all calls of the KV together; 0 means 50 ms. After it the
	// decision fails, also if the KV ignores its context.
	Timeout time.Duration
	// DenyCache is the number of refusals that are remembered, see [storekit.DenyCache]: 0 means 65,536, below 0
	// none.
	DenyCache int
	// NoBreaker makes every decision ask the KV, also while the KV fails. See [storekit.Breaker].
	NoBreaker bool
	// Direct calls the KV in the caller's goroutine, which saves some 3 µs a decision. It is for a KV whose methods
	// return when their context ends: one that does not holds the caller. Callers who share a flight wait for it, as
	// without Direct. A decision whose time is over subtracts nothing then: units that it has added stay spent until
	// the window has passed.
	Direct bool
	// Address is what [Store.Stats] calls the KV, such as its host and port. It changes nothing else.
	Address string
	// Name is what Stats calls the store, in metrics too. It changes nothing else.
	Name string
	// Now is a clock for tests; nil means the system's. When it goes back, the store's time stands still for
	// that step, see [storekit.NewClock]. Timeout is always real time.
	Now func() time.Time
	// Skew is the largest difference between the clocks of the processes that share the KV; 0 means 100 ms. Counts
	// live longer by Skew, and within Skew of a window boundary a SlidingWindow reads one count more. The package
	// comment says what happens beyond it.
	Skew time.Duration
}

// New returns a store over kv. It does not call kv.
func New(kv KV, cfg Config) (*Store, error) {
	var faults []error
	if kv == nil {
		faults = append(faults, errors.New("kvstore: kv is nil, want a KV"))
	}
	if cfg.Timeout < 0 {
		faults = append(faults, fmt.Errorf("kvstore: Timeout is %v, want 0 (for %v) or more",
			cfg.Timeout, defaultTimeout))
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
		kv:       kv,
		timeout:  cfg.Timeout,
		skew:     cfg.Skew,
		clock:    storekit.NewClock(cfg.Now),
		refusals: storekit.NewDenyCache(cfg.DenyCache),
		calls:    storekit.NewCalls(0),
		counts:   newCachedCounts(),
		queue:    newQueue(cfg.Timeout),
		direct:   cfg.Direct,
		address:  cfg.Address,
		name:     cfg.Name,

		reconnector: newReconnector(kv),
	}
	if s.breaker = storekit.NewBreaker(cfg.Timeout); cfg.NoBreaker {
		s.breaker = storekit.NeverOpen()
	}
	return s, nil
}
