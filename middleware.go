package httplimit

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/memstore"
)

// Middleware limits requests by the rules of its Config. Make one with [New]; the zero Middleware lets everything
// pass. It is safe for concurrent use, starts no goroutine and needs no closing.
type Middleware struct {
	settings atomic.Pointer[settings]
	made     time.Time // by New
	logger   *logger
	local    func() limiter.Store // counts while the store is away; made when first needed
	changing sync.Mutex           // one Reconfigure at a time
}

// New makes a Middleware of cfg. The error joins every fault as a [*ConfigError] each. [Config.Validate] finds the same
// faults and makes nothing.
func New(cfg Config) (*Middleware, error) {
	store := cfg.Store
	if store == nil {
		var err error
		if store, err = memstore.New(memstore.Config{}); err != nil {
			return nil, err
		}
	}
	m := &Middleware{made: time.Now(), logger: newLogger(), local: sync.OnceValue(newLocalStore)}
	if err := m.configure(cfg, store); err != nil {
		return nil, err
	}
	return m, nil
}

// Reconfigure replaces the configuration as a whole, also under load: each request is decided and settled by one of
// them. On an error the old one stays in force. A nil Store keeps the present one. To change several Middlewares or
// none, ask [Config.Validate] of all their configurations first.
//
// A counter goes on where it is, whatever its new Limit: it starts anew only if its Namespace, rule name, Algorithm,
// Window, KeySecret or Store is new.
func (m *Middleware) Reconfigure(cfg Config) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	old := m.settings.Load()
	if old == nil {
		return &ConfigError{Field: "Middleware", Reason: "it was not made by New, want New(cfg)"}
	}
	store := cfg.Store
	if store == nil {
		store = old.store
	}
	return m.configure(cfg, store)
}

func (m *Middleware) configure(cfg Config, store limiter.Store) error {
	before := m.settings.Load()
	s, err := cfg.compile(store, m.logger, before)
	if err != nil {
		return err
	}
	if before != nil {
		for i := range before.rules {
			before.rules[i].retire()
		}
	}
	m.logger.out.Store(cfg.Logger)
	m.settings.Store(s)
	m.logger.forget(s)
	return nil
}

// Config returns the configuration in force: that of [New] or of the last [Middleware.Reconfigure], with the Store that
// counts where none was given, and the limits of rules with InFlight as they hold. It is the caller's to change and to
// hand to Reconfigure, so KeySecret is in it: show it to nobody. That of the zero Middleware is the zero Config.
func (m *Middleware) Config() Config {
	s := m.settings.Load()
	if s == nil {
		return Config{}
	}
	cfg := s.given
	cfg.KeySecret = slices.Clone(cfg.KeySecret)
	cfg.Rules = make([]Rule, len(s.rules))
	for i := range s.rules {
		cfg.Rules[i] = s.rules[i].Rule
		cfg.Rules[i].Plans = slices.Clone(cfg.Rules[i].Plans)
	}
	return cfg
}

// Must returns m, and panics on an error: for programs that cannot go on without their limits, and configurations that
// no user writes.
//
//	r.Use(ginlimit.New(httplimit.Must(httplimit.New(cfg))))
func Must(m *Middleware, err error) *Middleware {
	if err != nil {
		panic(err)
	}
	return m
}

// PerIP limits each client address to n requests per window, counted in memory over a sliding window: one line of
// protection. The address is that of the socket peer, IPv6 by its /64; behind a proxy use [PerKey] with a [ClientIP]
// that has the proxy's addresses. With n = 0 nobody gets through. It panics if the limit is invalid.
func PerIP(n int64, window time.Duration) func(http.Handler) http.Handler {
	return one(Rule{Name: "ip", Key: ClientIP(), Limit: limiter.Per(n, window)})
}

// PerKey is [PerIP] for any key: n requests per window for each identity that key finds, and for each peer address
// without one, see Rule.NoKey. The rule's name in the fields is "key". It panics if the limit or the key is invalid.
func PerKey(n int64, window time.Duration, key Key) func(http.Handler) http.Handler {
	return one(Rule{Name: "key", Key: key, Limit: limiter.Per(n, window)})
}

// one returns the handler of a Middleware that has one rule, and panics if it is faulty.
func one(rule Rule) func(http.Handler) http.Handler {
	return Must(New(Config{Rules: []Rule{rule}})).Handler
}

// Handler returns a handler that calls next for requests within the limits and answers the others. Fields are set
// before next is called, so that they are there whatever next does; note that [net/http/httputil.ReverseProxy] drops
// them when its backend sends a 1xx answer.
//
// A request whose context has ended is decided and served like any other: a server that drains its connections, and a
// client that has closed its half of one, are answered as without a Middleware.
//
// The ResponseWriter is wrapped only where a rule has CountStatus. Then it has the methods that it had before, and no
// others, of http.Flusher, FlushError, http.Hijacker, http.Pusher, http.CloseNotifier, io.ReaderFrom and
// io.StringWriter; everything else is within reach of http.ResponseController.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := outcomes.Get().(*Outcome)
		o.own.r = r
		o.check(m, &o.own, false)
		if o.decision.status != 0 {
			o.deny(w, r)
			return
		}
		o.fields.SetIn(w.Header())
		if o.exposure != nil {
			r = r.WithContext(o.Context())
		}
		if leave := o.Hold(); leave != nil {
			defer leave()
		}
		if o.countsStatus() {
			o.serveCounted(next, w, r)
			return
		}
		o.Release() // nothing depends on the status
		next.ServeHTTP(w, r)
	})
}
