package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Rule limits what one kind of client may do. A request is refused if any rule that applies to it is violated,
// and then spends nothing of the others.
//
// Functions of a Rule are called by many requests at once. What one of them panics with passes through to net/http.
type Rule struct {
	// Name is 1 to 64 characters from 0x20 to 0x7E. Clients see it in header fields and refusals, operators in
	// logs and metrics.
	Name string
	// Key tells who is counted. Required.
	Key Key
	// NoKey counts the requests that lack the identity that Key looks for, apart from those that have one. Nil
	// means by the address of the socket peer, so nobody gets past a rule by leaving a header out. Behind a
	// proxy that is the proxy's address, one bucket for all of them: set NoKey to a [ClientIP] that trusts it.
	NoKey Key
	// Limit is how much each key may spend. Required.
	Limit limiter.Limit
	// LimitFunc, if set, may replace Limit for one request, by the plan of a tenant for example. After
	// [ErrSkip] the rule does not apply; on any other error Limit holds, logged once per cause. The rules of a
	// Middleware can have 64 different pairs of Algorithm and Window between them; that of a 65th is an error.
	LimitFunc func(*http.Request) (limiter.Limit, error)
	// Cost is how many units a request spends; nil means 1. After [ErrSkip] the rule does not apply; on any
	// other error, and below 0, it is 1, logged once per cause.
	Cost func(*http.Request) (int64, error)
	// When tells whether the rule applies to a request; nil means to every one.
	When func(*http.Request) bool
	// CountStatus, if set, is asked with the status of the answer when the handler has returned. If it says
	// false, what the request spent is given back: so only failed logins count, or only successes. Requests
	// under way count, so that nobody gets more guesses by making them at once: leave room for the clients that
	// share an address. A panic is status 500, unless an error was sent before; a connection that was taken over
	// is 101; a client that left before anything was written always counts, and is not asked about. What
	// [Middleware.Allow] spends is not given back.
	CountStatus func(status int) bool
	// Failure says what happens when the store cannot decide; zero means FailLocal.
	Failure FailurePolicy
	// Shadow decides and reports but never refuses, and writes no field: a rule on trial. What it would have
	// refused is counted in the log, a line a minute at most, and told to the Observer.
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
	name    string
	scope   string
	keys    *keyring
	quoted  string // the name as fields have it
	member  string // how RateLimit begins to tell of the rule
	problem []byte // the body of a refusal by this rule alone
	mode    limiter.Mode
	checker limiter.Checker
	windows *windows
	state   *ruleState
}

const maxName = 64

func (r Rule) compile(field string, cfg Config, s *settings, f *faults) rule {
	if r.Name == "" || len(r.Name) > maxName || !printable(r.Name) {
		f.add(field+".Name", "%q is not 1 to %d characters from 0x20 to 0x7E", r.Name, maxName)
	}
	checker, _ := s.store.(limiter.Checker)
	c := rule{Rule: r, name: r.Name, scope: cfg.Namespace + "/" + r.Name, checker: checker, state: s.log.rule(r.Name)}
	c.windows = &s.windows
	err := c.check(r.Limit)
	if err == nil {
		err = c.windows.admit(r.Limit)
	}
	if err != nil {
		f.add(field+".Limit", "%v", err)
	}
	if r.Failure > FailClosed {
		f.add(field+".Failure", "%d is no policy, want FailLocal, FailOpen or FailClosed", r.Failure)
	}
	keys, keyFaults := compileKey(field+".Key", field+".NoKey", r.Key, r.NoKey, cfg.KeySecret, s.log.warn)
	for _, fault := range keyFaults {
		*f = append(*f, fault)
	}
	c.keys = keys
	c.quoted = quote(r.Name)
	c.member = c.quoted + ";r="
	refusal := Denial{Status: http.StatusTooManyRequests}
	if !r.Private {
		refusal.Rules = []Verdict{{Rule: r.Name}}
	}
	c.problem = slices.Clip(refusal.appendProblem(nil)) // many answers at once are made from it
	if r.Shadow {
		c.mode = limiter.Shadow
	}
	return c
}

// check tells whether l is valid and the store can run it.
func (r *rule) check(l limiter.Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if r.checker != nil {
		return r.checker.Check(l)
	}
	return nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7E {
			return false
		}
	}
	return true
}

// charge fills in the rule's charge for a request, over whatever an earlier one has left in c. It returns false where the
// rule has nothing to do with the request.
func (r *rule) charge(c *limiter.Charge, req Request, log *journal) (applies bool) {
	if r.When != nil && !r.When(req.HTTP()) {
		return false
	}
	key, skip, cause := r.keys.find(req)
	if skip {
		return false
	}
	if cause != nil {
		log.once(r.name, "Key failed, NoKey decides", cause)
	}
	// Field by field: what was just written word by word is slow to copy as a whole.
	if c.Scope != r.scope {
		c.Scope = r.scope // a pointer that is there already need not be written
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
	c.Key = key
	return true
}

// refused notes what operators should know of a refusal.
func (r *rule) refused(retry time.Duration, log *journal) {
	if r.Shadow {
		r.state.trial.refuse(log, r.name)
	}
	if retry == limiter.Never {
		log.once(r.name, "a request can never pass", errTooCostly)
	}
}

var errTooCostly = errors.New("its Cost is above what the limit allows at once")

func (r *rule) limitFor(req Request, log *journal) (l limiter.Limit, applies bool) {
	l, err := r.LimitFunc(req.HTTP())
	if errors.Is(err, ErrSkip) {
		return l, false
	}
	if err == nil && l != r.Limit {
		err = r.check(l)
	}
	if err == nil && (l.Window != r.Limit.Window || l.Algorithm != r.Limit.Algorithm) {
		err = r.windows.admit(l)
	}
	if err != nil {
		log.once(r.name, "LimitFunc failed, the rule's Limit holds", err)
		return r.Limit, true
	}
	return l, true
}

func (r *rule) costOf(req Request, log *journal) (cost int64, applies bool) {
	cost, err := r.Cost(req.HTTP())
	if errors.Is(err, ErrSkip) {
		return 0, false
	}
	if err == nil && cost < 0 {
		err = fmt.Errorf("a cost of %d, want 0 or more", cost)
	}
	if err != nil {
		log.once(r.name, "Cost failed, the request costs 1", err)
		return 1, true
	}
	return cost, true
}
