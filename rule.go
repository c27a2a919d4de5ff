package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/httplimit/httplimit/limiter"
)

// Rule limits what one kind of client may do. A request is refused if any rule that applies to it is violated,
// and then spends nothing of the others.
//
// A CORS preflight (OPTIONS with Origin and Access-Control-Request-Method) is counted at the rule's limit like any
// other request, but in a counter of its own beside that of each key. So OPTIONS requests buy a client its limit once
// more and no more than that, no request pays for its preflight, and requests without an identity use up nobody's
// preflights. Browsers send no credentials with one, so NoKey mostly decides, and they show a refusal as a CORS error,
// which is logged once: put the CORS layer outside of the limiter, where it answers them, or set NoKey so that it tells
// clients apart.
//
// Functions of a Rule are called by many requests at once. What one of them panics with passes through to net/http.
type Rule struct {
	// Name is 1 to 64 characters from 0x20 to 0x7E. Clients see it in header fields and refusals, operators in
	// logs and metrics.
	Name string
	// Key says who is counted. Required.
	Key Key
	// NoKey counts the requests that lack the identity that Key looks for, apart from those that have one. Nil
	// means by the address of the socket peer, so nobody gets past a rule by leaving a header out. Behind a
	// proxy that is the proxy's address, one bucket for all of them: set NoKey to a [ClientIP] that trusts it.
	NoKey Key
	// Limit is how much each key may spend. Required. A limit of 0, such as limiter.PerMinute(0), refuses every request
	// that the rule applies to: with [OnlyFrom] as When it is a deny list.
	Limit limiter.Limit
	// LimitFunc, if set, may replace Limit for one request, by the plan of a tenant for example: a limit of 0 suspends
	// the tenant. After [ErrSkip] the rule does not apply; after any other error, and with a limit that is invalid (the
	// zero Limit is), Limit holds, logged once per cause. The rules of a
	// Middleware can have 64 different pairs of Algorithm and Window between them; that of a 65th is an error.
	LimitFunc func(*http.Request) (limiter.Limit, error)
	// Cost is how many units a request spends; nil means 1. After [ErrSkip] the rule does not apply; on any
	// other error, and below 0, it is 1, logged once per cause.
	Cost func(*http.Request) (int64, error)
	// When reports whether the rule applies to a request; nil means to every one.
	When func(*http.Request) bool
	// CountStatus, if set, is asked with the status of the answer when the handler has returned. If it says
	// false, what the request spent is given back: so only failed logins count, or only successes. Requests
	// under way count, so that nobody gets more guesses by making them at once: leave room for the clients that
	// share an address. A status that was sent stays what it is, also if the client hangs up or the handler
	// panics then; a panic before is 500, a connection that was taken over is 101. Two requests always count
	// and are not asked about: of a client that left before anything was written, and one of which nobody can
	// say how it was answered. What [Middleware.Allow] spends is not given back.
	CountStatus func(status int) bool
	// Failure says what happens when the store cannot decide; zero means FailLocal.
	Failure FailurePolicy
	// Shadow decides and reports but never refuses, and writes no field: to try a rule before it is in force. What
	// it would have refused is counted in the log, a line a minute at most, and told to the Observer.
	Shadow bool
	// Private rules are enforced but never named in fields or bodies. Set it on limits by an identity that
	// the client has not proved, such as the user name of a login attempt, so that nobody reads the usage of
	// somebody else.
	Private bool
}

// ErrSkip from a [KeyFunc], LimitFunc or Cost says that the rule does not apply to this request.
var ErrSkip = errors.New("httplimit: this rule does not apply to this request")

// rule is a Rule made ready.
type rule struct {
	Rule
	scope   string
	keys    *ruleKeys
	index   int    // in settings.rules
	problem []byte // the body of a refusal by this rule alone
	mode    limiter.Mode
	checker limiter.Checker
	log     *logger
	windows *windowSet
	state   *ruleState
}

const maxName = 64

// compile makes rule number index of cfg ready. state is what the rule of this name goes on with.
func (r Rule) compile(index int, cfg Config, s *settings, state *ruleState, f *faults) rule {
	field := fmt.Sprintf("Rules[%d]", index)
	if !validName(r.Name) {
		f.add(field+".Name", "%q is not 1 to %d characters from 0x20 to 0x7E", r.Name, maxName)
	}
	c := rule{
		Rule: r, index: index, scope: cfg.Namespace + "/" + r.Name,
		windows: &s.windows, state: state, log: s.logger,
	}
	c.checker, _ = s.store.(limiter.Checker)
	err := c.check(r.Limit)
	if err == nil {
		err = c.windows.add(r.Limit)
	}
	if err != nil {
		f.add(field+".Limit", "%v", err)
	}
	if r.Failure > FailClosed {
		f.add(field+".Failure", "%d is no policy, want FailLocal, FailOpen or FailClosed", r.Failure)
	}
	keys, keyFaults := compileKey(field+".Key", field+".NoKey", r.Key, r.NoKey, cfg.KeySecret, s.logger.warnSetup)
	for _, fault := range keyFaults {
		*f = append(*f, fault)
	}
	c.keys, c.problem = keys, problemOf(&r)
	if r.Shadow {
		c.mode = limiter.Shadow
	}
	return c
}

// check returns an error if l is not valid or the store cannot run it.
func (r *rule) check(l limiter.Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if r.checker != nil {
		return r.log.checkLimit(r.checker, l)
	}
	return nil
}

func validName(s string) bool {
	return s != "" && len(s) <= maxName &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7E })
}

// fillCharge fills in the rule's charge for a request, over what an earlier request left in c. It returns false if the
// rule does not apply to the request.
func (r *rule) fillCharge(c *limiter.Charge, req Request, preflight bool, log *logger) (applies bool) {
	if r.When != nil && !r.When(req.HTTP()) {
		return false
	}
	found := r.keys.find(req, preflight)
	if found.skip {
		return false
	}
	if found.cause != nil {
		log.warnOnce(r.Name, found.kind.message(), found.cause)
	}
	if c.Scope != r.scope {
		c.Scope = r.scope
	}
	c.Limit, c.Cost, c.Mode = r.Limit, 1, r.mode
	c.State, c.Decision, c.Cached = limiter.State{}, limiter.Decision{}, false
	if r.LimitFunc != nil {
		if c.Limit, applies = r.limitFor(req, log); !applies {
			return false
		}
	}
	if r.Cost != nil {
		if c.Cost, applies = r.costOf(req, log); !applies {
			return false
		}
	}
	c.Key = found.key // last, so that the memory holds on to no key of a rule that does not apply
	return true
}

func (r *rule) limitFor(req Request, log *logger) (l limiter.Limit, applies bool) {
	l, err := r.LimitFunc(req.HTTP())
	if errors.Is(err, ErrSkip) {
		return l, false
	}
	if err == nil && l != r.Limit {
		l, err = r.checkReplacement(l)
	}
	if err != nil {
		log.warnOnce(r.Name, "LimitFunc failed, the rule's Limit holds", err)
		return r.Limit, true
	}
	return l, true
}

// checkReplacement returns l, which is to replace Limit, or an error if it cannot.
func (r *rule) checkReplacement(l limiter.Limit) (limiter.Limit, error) {
	err := r.check(l)
	if err == nil && !l.SameWindow(&r.Limit) {
		err = r.windows.add(l)
	}
	if err != nil && l.Requests == 0 && l.Validate() == nil {
		// It refuses and counts nothing. That the store cannot count so is no reason to let through who is suspended.
		l.Algorithm, l.Window, err = r.Limit.Algorithm, r.Limit.Window, nil
	}
	return l, err
}

func (r *rule) costOf(req Request, log *logger) (cost int64, applies bool) {
	cost, err := r.Cost(req.HTTP())
	if errors.Is(err, ErrSkip) {
		return 0, false
	}
	if err == nil && cost < 0 {
		err = fmt.Errorf("a cost of %d, want 0 or more", cost)
	}
	if err != nil {
		log.warnOnce(r.Name, "Cost failed, the request costs 1", err)
		return 1, true
	}
	return cost, true
}

// windowSet holds the windows in which one configuration counts. Safe for concurrent use.
type windowSet struct {
	mu    sync.RWMutex
	known map[limiter.Limit]bool // with Algorithm and Window only
}

// maxWindows bounds what a LimitFunc can make a store keep: each pair of Algorithm and Window has counters of its own.
const maxWindows = 64

// add adds the window of l. The error says that there are too many.
func (w *windowSet) add(l limiter.Limit) error {
	pair := limiter.Limit{Algorithm: l.Algorithm, Window: l.Window}
	w.mu.RLock()
	known := w.known[pair]
	w.mu.RUnlock()
	if known {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.known) >= maxWindows && !w.known[pair] {
		return fmt.Errorf("it would be one of more than %d different windows, want fewer", maxWindows)
	}
	w.known[pair] = true
	return nil
}
