package httplimit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/httplimit/httplimit/internal/fields"
	"github.com/httplimit/httplimit/internal/keyenc"
	"github.com/httplimit/httplimit/limiter"
)

// Config is the configuration of a [Middleware]. [New] and [Middleware.Reconfigure] copy what they need of it.
type Config struct {
	// Rules are decided together, in one step: a request spends from each rule that applies to it, or from
	// none. At least one; names are unique.
	Rules []Rule
	// Store counts. Nil means a new in-memory store ([memstore.New] with its zero Config); in Reconfigure nil
	// keeps the one in force.
	//
	// [memstore.New]: https://pkg.go.dev/github.com/httplimit/httplimit/limiter/memstore#New
	Store limiter.Store
	// Namespace parts the counters of one service from those of another over the same Store: up to 64 letters,
	// digits, '-', '.', '_' and '~'. Two Middlewares share counts where Namespace and rule name agree.
	Namespace string
	// Headers chooses the fields that tell clients where they stand; zero means RateLimitFields.
	Headers HeaderStyle
	// KeySecret, if set, is at least 16 bytes, the same on every instance. Every key then reaches the store as
	// an HMAC under it, so that neither addresses nor names can be read or guessed from what is stored. A new
	// secret starts all counters anew.
	KeySecret []byte
	// Instances is how many processes share the Store; 0 means 1. A rule with FailLocal lets each of them
	// admit its share of the limit while the store is away.
	Instances int
	// OnDeny answers refused requests; nil means d.ServeHTTP(w, r). The fields of the refusal are set before
	// it is called; the status (d.Status) and the body are its work. It is used by [Middleware.Handler]; adapters
	// have their own.
	OnDeny func(w http.ResponseWriter, r *http.Request, d Denial)
	// Expose lets handlers read the decisions with [Verdicts], and add to them or give back with [Spend]. It costs a
	// copy of each request.
	Expose bool
	// Observer is told what became of each request and of each [Middleware.Allow]; nil means nobody. For several of
	// them see [Observers].
	Observer Observer
	// Logger gets warnings and changes of state; nil means slog.Default(). Keys are never logged. What repeats is
	// written once a cause; after 16 causes of one warning of a rule further ones are silent for an hour.
	Logger *slog.Logger
}

// Validate returns all that [New] would say of cfg, as it says it, and makes nothing: no store, no log line. So a
// program that reloads several Middlewares can ask of all configurations before it calls the first
// [Middleware.Reconfigure]. It may be called at any time, also while cfg is in force.
//
// The Store is asked which limits it can run. A nil Store is taken for the default one, which can run all of them;
// Reconfigure keeps the one in force then, and may still refuse a limit that this one cannot run.
func (cfg Config) Validate() error {
	silent := newLogger()
	silent.out.Store(slog.New(slog.DiscardHandler))
	_, err := cfg.compile(cfg.Store, silent, nil)
	return err
}

// ConfigError is one fault of a [Config]. [New] joins all of them; find the first with [errors.As]. Its text names the
// Namespace and the rule where they have a name, because a service may have several Middlewares:
//
//	httplimit: namespace "shop": Rules[1] "login".Limit: ...
type ConfigError struct {
	Field     string // where, such as "Rules[1].Limit"
	Reason    string // what is wrong and what would be right
	Rule      string // the Name of that rule; "" if it is no rule's field, or the Name is not valid
	Namespace string // the Config's; "" if it is not valid
}

func (e *ConfigError) Error() string {
	place := e.Field
	if bracket := strings.IndexByte(place, ']') + 1; e.Rule != "" && bracket > 0 {
		place = fmt.Sprintf("%s %q%s", place[:bracket], e.Rule, place[bracket:])
	}
	if e.Namespace != "" {
		place = fmt.Sprintf("namespace %q: %s", e.Namespace, place)
	}
	return "httplimit: " + place + ": " + e.Reason
}

// faults collects what is wrong with a Config.
type faults []*ConfigError

func (f *faults) add(field, format string, args ...any) {
	*f = append(*f, &ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// err joins the faults, as those of a Config with this Namespace.
func (f faults) err(namespace string) error {
	list := make([]error, len(f))
	for i, fault := range f {
		if validNamespace(namespace) {
			fault.Namespace = namespace
		}
		list[i] = fault
	}
	return errors.Join(list...)
}

const (
	maxNamespace = 64
	minSecret    = 16 // bytes: a key of the strength that the 128 bits of a stored key have
)

// settings is a Config made ready: valid, immutable, swapped as a whole.
type settings struct {
	given     Config // but for its Rules
	rules     []rule
	namespace string
	store     limiter.Store
	headers   HeaderStyle
	policies  fields.Policies
	instances int64
	onDeny    func(http.ResponseWriter, *http.Request, Denial)
	expose    bool
	observer  Observer
	costs     CostObserver // the Observer, or those of several; nil: none
	remote    bool         // the store is not in memory
	bans      bool         // a rule has a Ban
	inFlight  bool         // a rule has InFlight
	logger    *logger
	windows   windowSet
}

// compile checks cfg against the store that it will use and makes it ready. Rules go on with the state that those of
// their name have in before, which may be nil; before itself is not kept.
func (cfg Config) compile(store limiter.Store, log *logger, before *settings) (*settings, error) {
	var f faults
	if len(cfg.Rules) == 0 {
		f.add("Rules", "there are none, want at least one")
	}
	if nilPointer(store) {
		f.add("Store", "it is a nil %T, want one that was made by its New, or no value at all", store)
		store = nil
	}
	if !validNamespace(cfg.Namespace) {
		f.add("Namespace", "%q is not up to %d letters, digits, '-', '.', '_' and '~'", cfg.Namespace, maxNamespace)
	}
	if n := len(cfg.KeySecret); cfg.KeySecret != nil && n < minSecret {
		f.add("KeySecret", "it has %d bytes, want at least %d, or nil for none", n, minSecret)
	}
	if cfg.Instances < 0 {
		f.add("Instances", "%d is negative, want the number of processes that share the Store", cfg.Instances)
	}
	checkObserver(cfg.Observer, &f)
	headers, err := cfg.Headers.resolve()
	if err != nil {
		f.add("Headers", "%v", err)
	}
	s := &settings{
		windows: windowSet{known: make(map[window]bool)},
		store:   store, headers: headers, instances: int64(max(1, cfg.Instances)), onDeny: cfg.OnDeny,
		expose: cfg.Expose, observer: cfg.Observer, logger: log, namespace: cfg.Namespace,
	}
	s.compileRules(cfg, before, &f)
	if len(f) > 0 {
		return nil, f.err(cfg.Namespace)
	}
	s.policies = policies(s.rules)
	s.costs, s.remote = costObserver(cfg.Observer), isRemote(store)
	s.given = cfg
	s.given.Rules, s.given.Store, s.given.KeySecret = nil, store, slices.Clone(cfg.KeySecret)
	return s, nil
}

// nilPointer reports whether v is a nil pointer, which has methods that panic.
func nilPointer(v any) bool {
	pointer := reflect.ValueOf(v)
	return pointer.Kind() == reflect.Pointer && pointer.IsNil()
}

// compileRules makes the rules of cfg ready.
func (s *settings) compileRules(cfg Config, before *settings, f *faults) {
	s.rules = make([]rule, len(cfg.Rules))
	seen := make(map[string]int, len(cfg.Rules))
	for i := range cfg.Rules {
		r, others := &cfg.Rules[i], len(*f)
		if first, twice := seen[r.Name]; twice {
			f.add(fmt.Sprintf("Rules[%d].Name", i), "%q is the name of Rules[%d] already, want unique names", r.Name, first)
		} else {
			seen[r.Name] = i
		}
		s.rules[i] = r.compile(i, cfg, s, before.stateOf(r.Name), f)
		if validName(r.Name) {
			for _, fault := range (*f)[others:] {
				fault.Rule = r.Name
			}
		}
	}
}

// stateOf returns the state of the rule of that name, a new one if there is none.
func (s *settings) stateOf(name string) *ruleState {
	if r := s.find(name); r != nil {
		return r.state
	}
	return &ruleState{}
}

// rule finds a rule by its name.
func (s *settings) rule(name string) (*rule, error) {
	if r := s.find(name); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("httplimit: there is no rule %q", name)
}

// find returns the rule of that name, nil if there is none.
func (s *settings) find(name string) *rule {
	if s == nil {
		return nil
	}
	for i := range s.rules {
		if s.rules[i].Name == name {
			return &s.rules[i]
		}
	}
	return nil
}

// validNamespace reports whether s is short and has nothing but the unreserved characters of RFC 3986, section 2.3.
func validNamespace(s string) bool {
	return len(s) <= maxNamespace &&
		!strings.ContainsFunc(s, func(r rune) bool { return r > '~' || !keyenc.Unreserved(byte(r)) })
}
