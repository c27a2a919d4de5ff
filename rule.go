package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

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
	// zero Limit is), Limit holds, logged once per cause. The rules of a Middleware can have 64 different pairs of
	// Algorithm and Window between them; that of a 65th is an error.
	LimitFunc func(*http.Request) (limiter.Limit, error)
	// Plans are the limits that LimitFunc may return beside Limit. New checks them, so that a plan which the store cannot
	// run, or a misspelt one, is found when the service starts, and [Middleware.Reset] frees the clients of all of them,
	// also in a process that has never seen one. LimitFunc may return others too: they are checked when it does, and
	// Reset knows those that it has returned in this process. Nil means none; two of one Algorithm and Window, which
	// share a counter, are no fault. Without LimitFunc nothing but Reset looks at them.
	Plans []limiter.Limit
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
	// and are not asked about: of a client that left and got nothing, or a status of 500 and above, which may come
	// of its leaving; and one of which nobody can say how it was answered. What [Middleware.Allow] spends is not given
	// back.
	CountStatus func(status int) bool
	// InFlight makes the rule a limit on requests at once: what a request has spent, its places, comes back when its
	// handler has returned, also by a panic, and whatever the answer was. The handler of an event stream or a WebSocket
	// returns when that has ended. Limit.Requests is how many there may be, of a Cost of 1.
	//
	// Limit.Window is how long a request counts at most, so that the places of a process that died are free again, a
	// tenth of Window later at most. Choose it longer than the longest request: one that goes on longer no longer
	// counts. The algorithm is [limiter.StrictWindow], also where Limit leaves it out; New refuses any other, stores
	// that do not have it, and CountStatus beside it. Of Plans, and of what LimitFunc returns, only Requests holds.
	//
	// A refused client is told to wait a second, as nobody knows when a request will end; the field in RateLimit is
	// without t, that in RateLimit-Policy has qu="concurrent-requests" instead of w, and the other styles leave the rule
	// out. No store answers for it from its deny cache, as any process may free a place at any moment: each refusal costs
	// a call. To give places back takes another one, before the handler's goroutine ends: so a client that has its
	// whole answer has its place back, unless the answer was sent before the handler returned. Places that the store
	// did not take back, and those of a request that was charged although the store said that it could not decide, are
	// free when Window is over. What was counted in this process during an outage is given back in this process.
	//
	// [Middleware.Allow] and [Spend] return an error for such a rule. [Middleware.Reset] frees the places of requests
	// that are still under way: they no longer count, and what they give back when they end can be the places of
	// requests that came after the Reset, in the same tenth of Window. So for a time more than Limit can be under way.
	InFlight bool
	// Failure says what happens when the store cannot decide; zero means FailLocal.
	Failure FailurePolicy
	// Shadow decides and reports but never refuses, and writes no field: to try a rule before it is in force. What
	// it would have refused is counted in the log, a line a minute at most, and told to the Observer.
	Shadow bool
	// Percent is for whom the rule is in force: 0 and 100 mean everybody; with 1 to 99 it is in force for that share of
	// the keys, and for all others as if it were Shadow: it refuses them nothing, whatever Failure says, and no field
	// names it. So a rule is put in force for some clients first, and for more of them step by step.
	//
	// A hash of Namespace, Name and the key that the store sees decides, so a client is wholly in or out, its
	// preflights, [Middleware.Allow] and Peek too, on every instance alike; who is in stays in as Percent grows. The
	// rules choose their clients independently of each other. What shares a key is in or out together: all clients of
	// an [Everyone], all requests without an identity that NoKey does not tell apart. It is a means of putting a rule in
	// force, not of control: without Config.KeySecret clients can find out whether they are in. A fault with Shadow.
	Percent int
	// Ban shuts out clients that go on although the rule refuses them; the zero Ban is none. It says which clients: read
	// there what may be banned, before you set it on a rule whose key is an identity that the client has not proved, such
	// as the name in a login attempt. With it, anybody can have the owner of that name locked out.
	Ban Ban
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
	peeks   *ruleKeys // the same keys, for PeekRequest: their warnings are silent and take nothing from those of keys
	index   int       // in settings.rules
	problem []byte    // the body of a refusal by this rule alone
	mode    limiter.Mode
	rollout rollout
	ban     *ban // nil: none
	checker limiter.Checker
	log     *logger
	windows *ruleWindows
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
		windows: &ruleWindows{all: &s.windows}, state: state, log: s.logger,
	}
	c.checker, _ = s.store.(limiter.Checker)
	c.declareLimits(field, f)
	s.inFlight = s.inFlight || r.InFlight
	if r.Failure > FailClosed {
		f.add(field+".Failure", "%d is no policy, want FailLocal, FailOpen or FailClosed", r.Failure)
	}
	keys, keyFaults := compileKey(field+".Key", field+".NoKey", r.Key, r.NoKey, cfg.KeySecret, s.logger.warnSetup)
	for _, fault := range keyFaults {
		*f = append(*f, fault)
	}
	c.keys, c.problem = keys, problemOf(&r, cfg.Headers == NoHeaders)
	c.peeks, _ = compileKey("", "", r.Key, r.NoKey, cfg.KeySecret, func(string, string) {})
	if r.Shadow {
		c.mode = limiter.Shadow
	}
	c.checkPercent(field, f)
	if r.Percent > 0 && r.Percent < 100 {
		c.rollout = newRollout(r.Percent, cfg.Namespace, r.Name)
	}
	c.ban = c.compileBan(field, s, f)
	return c
}

func (r *rule) checkPercent(field string, f *faults) {
	switch {
	case r.Percent < 0 || r.Percent > 100:
		f.add(field+".Percent", "%d is no percentage, want 0 to 100", r.Percent)
	case r.Percent != 0 && r.Shadow:
		f.add(field+".Percent", "it is %d and Shadow is set, want one of the two: Shadow is in force for nobody", r.Percent)
	}
}

func validName(s string) bool {
	return s != "" && len(s) <= maxName &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r > 0x7E })
}

// fillCharge fills in the rule's charge for a request, over what an earlier request left in c. It returns whose key it
// is, and false if the rule does not apply to the request.
func (r *rule) fillCharge(c *limiter.Charge, req Request, preflight bool, log *logger) (
	kind keyKind, applies bool,
) {
	if r.When != nil && !r.When(req.HTTP()) {
		return 0, false
	}
	found := r.keys.find(req, preflight)
	if found.skip {
		return 0, false
	}
	if found.cause != nil {
		log.warnOnce(r.Name, found.kind.message(), found.cause)
	}
	if c.Scope != r.scope {
		c.Scope = r.scope
	}
	c.Limit, c.Cost, c.Mode, c.Brief = r.Limit, 1, r.mode, r.InFlight
	if r.rollout.below != 0 && r.shadows(r.keys, found.key, req, preflight) {
		c.Mode = limiter.Shadow
	}
	c.State, c.Decision, c.Cached, c.Local, c.Shared = limiter.State{}, limiter.Decision{}, false, false, false
	if r.LimitFunc != nil {
		if c.Limit, applies = r.limitFor(req, log); !applies {
			return 0, false
		}
	}
	if r.Cost != nil {
		if c.Cost, applies = r.costOf(req, log); !applies {
			return 0, false
		}
	}
	c.Key = found.key // last, so that the memory holds on to no key of a rule that does not apply
	return found.kind, true
}

// fillPeek is fillCharge for a look that spends nothing and warns of nothing: it asks neither When nor Cost. shadow
// says that the rule is not in force for this client.
func (r *rule) fillPeek(c *limiter.Charge, req Request, preflight bool) (shadow, applies bool) {
	found := r.peeks.find(req, preflight)
	if found.skip {
		return false, false
	}
	*c = limiter.Charge{Scope: r.scope, Key: found.key, Cost: 1, Mode: limiter.Peek}
	c.Limit, applies = r.limitToPeek(req)
	return r.shadows(r.peeks, found.key, req, preflight), applies
}

// shadows reports whether the rule refuses a request nothing: because it is Shadow, or because the client is outside of
// its Percent. A preflight goes with the other requests of its client, whose key keys are asked for.
func (r *rule) shadows(keys *ruleKeys, key string, req Request, preflight bool) bool {
	if preflight && r.rollout.below != 0 {
		key = keys.find(req, false).key
	}
	return r.shadowsKey(key)
}

// shadowsKey is shadows for the client of that key, as it is without a preflight.
func (r *rule) shadowsKey(key string) bool {
	if r.rollout.below == 0 {
		return r.Shadow
	}
	return !r.rollout.holds(key)
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
