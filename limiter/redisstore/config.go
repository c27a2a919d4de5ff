package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// DefaultPrefix begins the keys of a Store without a Prefix. It is short because every counter pays for it.
	DefaultPrefix = "rl:"

	// DefaultTimeout is a hundred round trips within a data centre, and no more than a visitor notices.
	DefaultTimeout = 50 * time.Millisecond

	maxPrefix = 64 // bytes; it is paid for with every counter
)

// Config says how a [Store] counts. The zero value works.
type Config struct {
	// Prefix begins every key, such as "shop:". Services that share a server and must not share counts need
	// different ones. Up to 64 printable ASCII characters, no spaces and no braces. Empty means [DefaultPrefix].
	Prefix string
	// Timeout is how long a decision may take before it fails, whatever the settings of the client are. 0 means
	// [DefaultTimeout].
	Timeout time.Duration
	// DenyCache is how many refusals are remembered, so that a client that goes on asking costs no call: see
	// [storekit.DenyCache]. 0 means 65,536, below 0 none.
	DenyCache int
	// NoBreaker keeps on calling a server that does not answer. Otherwise decisions fail at once while it is
	// down: see [storekit.Breaker].
	NoBreaker bool
	// Name is what [Store.Stats] calls the store, in metrics too. It changes nothing else.
	Name string
	// Logger gets warnings, each once: of a client setting that costs time, a round trip near Timeout, a server that
	// forgets counters when it is full, and a clock that is far ahead of the server's. nil means [slog.Default].
	Logger *slog.Logger
}

// New returns a Store over any go-redis client: of one server, Sentinel, a Cluster or a Ring. It never dials, so a
// service starts while Redis is down. Every fault of the Config is reported at once.
func New(client redis.UniversalClient, cfg Config) (*Store, error) {
	var faults []error
	if v := reflect.ValueOf(client); client == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		faults = append(faults, errors.New("redisstore: client is nil, want one such as redis.NewClient makes"))
	}
	if len(cfg.Prefix) > maxPrefix || !printable(cfg.Prefix) {
		faults = append(faults, fmt.Errorf("redisstore: Prefix is %q, "+
			"want up to %d printable ASCII characters without spaces and braces", cfg.Prefix, maxPrefix))
	}
	if cfg.Timeout < 0 {
		faults = append(faults, fmt.Errorf("redisstore: Timeout is %v, want 0 (%v) or more", cfg.Timeout, DefaultTimeout))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s := &Store{
		name:    cfg.Name,
		prefix:  cfg.Prefix,
		timeout: cfg.Timeout,
		clock:   storekit.NewClock(nil),
		cache:   storekit.NewDenyCache(cfg.DenyCache),
	}
	s.servers = newServers(client, cfg, s.clock)
	return s, nil
}
