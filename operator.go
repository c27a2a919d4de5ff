package httplimit

import (
	"context"
	"fmt"
	"net/http"

	"github.com/httplimit/httplimit/limiter"
)

// Allow spends one unit of a rule outside its Key: for identities that are known only in a handler, such as the login
// name in a request's body. Rule.Limit holds; LimitFunc, Cost and When are not asked. A rule that is meant only for
// Allow has a [KeyFunc] that returns [ErrSkip].
//
// parts are the values that the rule's Key would have found, as they are, in the order of [Compose]; for [FirstOf]
// those of its first key; for [ClientIP] an address. If all parts are empty there is no identity, and no request that
// NoKey could be asked about: Allow spends nothing and returns an error that wraps [ErrNoKey]. The rule's Failure
// policy holds: with FailClosed, and for a rule or a number of parts that do not exist, Allow returns an error as well.
// A Shadow rule is always Allowed, as is a client outside of Percent; RetryAfter says how long it would have been
// refused. [Verdict.Denied] makes the answer of what is not Allowed.
//
// Allow does not end with ctx, which gives the store its values only: the store's time-out bounds the wait. So a client
// cannot keep its failed login from being counted by hanging up.
//
// What a rule with a LimitFunc counts under another Algorithm or Window than those of Rule.Limit is another counter,
// which Allow does not see. A rule with InFlight is an error, as nobody would give the unit back.
func (m *Middleware) Allow(ctx context.Context, rule string, parts ...string) (Verdict, error) {
	s, r, c, err := m.chargeOf(rule, parts)
	if err == nil && r.InFlight {
		err = fmt.Errorf("httplimit: Allow for rule %q: %w", rule, errPlaces)
	}
	if err != nil {
		return Verdict{}, err
	}
	return m.ask(ctx, s, r, c, limiter.Enforce)
}

// Peek returns what [Middleware.Allow] would answer and spends nothing. RetryAfter of a client that is banned tells the
// end of the ban. Verdict.Source says who answered: while the store is away it is [SourceLocal], this process's share,
// or for a rule with FailOpen [SourceNone]: then nothing is known but that it is Allowed.
//
// It is about Rule.Limit. For a client whose plan is another one, [Middleware.PeekLimit] is given it; in a handler
// [Middleware.PeekRequest] finds it.
func (m *Middleware) Peek(ctx context.Context, rule string, parts ...string) (Verdict, error) {
	s, r, c, err := m.chargeOf(rule, parts)
	if err != nil {
		return Verdict{}, err
	}
	return m.ask(ctx, s, r, c, limiter.Peek)
}

// PeekLimit is [Middleware.Peek] for a client of that plan: limit is what the rule's LimitFunc returns for it, in
// Rule.Plans or not. It returns an error if limit is invalid or the store cannot run it.
func (m *Middleware) PeekLimit(
	ctx context.Context, rule string, limit limiter.Limit, parts ...string,
) (Verdict, error) {
	s, r, c, err := m.chargeOf(rule, parts)
	if err != nil {
		return Verdict{}, err
	}
	anyWindow := func(limiter.Limit) error { return nil } // a look makes no counter
	if c.Limit, err = r.replacement(limit, anyWindow); err != nil {
		return Verdict{}, fmt.Errorf("httplimit: rule %q: %w", rule, err)
	}
	return m.ask(ctx, s, r, c, limiter.Peek)
}

// ask decides one unit of a rule in that mode; a Shadow rule is asked in its own instead of Enforce.
func (m *Middleware) ask(
	ctx context.Context, s *settings, r *rule, c limiter.Charge, mode limiter.Mode,
) (Verdict, error) {
	c.Cost, c.Mode = 1, mode
	shadow := r.shadowsKey(c.Key)
	if mode == limiter.Enforce && shadow {
		c.Mode = limiter.Shadow
	}
	d := decision{
		m: m, s: s, ctx: ctx, rules: []appliedRule{{rule: r, shadow: shadow}}, charges: []limiter.Charge{c},
	}
	d.take(keepValues(ctx))
	if s.observer != nil && mode != limiter.Peek {
		d.observe(nil)
	}
	if d.status == http.StatusServiceUnavailable {
		return Verdict{}, fmt.Errorf("httplimit: rule %q: %w", r.Name, d.err)
	}
	v := d.verdict(0)
	v.Allowed = v.Allowed || shadow
	return v, nil
}

// PeekRequest returns what the rules that apply to r say of it now, in their order, and spends nothing: for a page that
// tells clients their quota. It asks Key, NoKey and LimitFunc, as for any request, but neither When nor Cost: so it
// tells of the rules for other requests too, and of one unit. Left out are rules after [ErrSkip], and Private ones,
// which clients are not to see; a rule in shadow is told of, and is Allowed. The Observer is not told, and nothing is
// logged.
//
// What Key and LimitFunc look for has to be in r: call it behind authentication, and with the request of the handler,
// which for the frameworks is made by the adapter's Request. A [Route] is that of r, the page. Each call asks the store
// once: let a rule of its own limit the page.
//
// It returns an error if the store cannot decide and a rule has FailClosed; else a list that is not nil, so that its
// JSON is one. While the store is away the others are as in [Middleware.Peek].
func (m *Middleware) PeekRequest(r *http.Request) ([]Verdict, error) {
	d := decision{m: m, s: m.settings.Load(), ctx: r.Context(), quiet: true}
	if d.s != nil {
		d.collectPeeks(HTTPRequest(r))
	}
	if len(d.rules) > 0 {
		d.take(keepValues(d.ctx))
	}
	if d.status == http.StatusServiceUnavailable {
		return nil, fmt.Errorf("httplimit: the rules of a request: %w", d.err)
	}
	verdicts := make([]Verdict, len(d.rules))
	for i := range d.rules {
		verdicts[i] = d.verdict(i)
		verdicts[i].Allowed = verdicts[i].Allowed || d.rules[i].shadow
	}
	return verdicts, nil
}

// collectPeeks fills in charges that spend nothing, of the rules that apply to r and are not Private.
func (d *decision) collectPeeks(r Request) {
	d.preflight = isPreflight(r)
	for i := range d.s.rules {
		var c limiter.Charge
		rule := &d.s.rules[i]
		if rule.Private {
			continue
		}
		if shadow, applies := rule.fillPeek(&c, r, d.preflight); applies {
			d.rules = append(d.rules, appliedRule{rule: rule, shadow: shadow})
			d.charges = append(d.charges, c)
		}
	}
}

// Reset forgets what a client has spent of a rule, whatever its plan, also by preflights, in the store and in this
// process, and lifts a ban: for operators who unblock somebody. It deletes the counters of each Algorithm and Window
// that the rule has: those of Limit and of Plans, and those that LimitFunc has returned in this process, whatever the
// configuration was then. A plan that is in neither Limit nor Plans and that only other processes have seen is not
// known here: declare it. Other processes may refuse the client for up to a second more. parts are those of
// [Middleware.Allow]. After an error it may have taken effect; repeat it.
func (m *Middleware) Reset(ctx context.Context, rule string, parts ...string) error {
	s, r, c, err := m.chargeOf(rule, parts)
	if err != nil {
		return err
	}
	preflights := c
	if preflights.Key, err = r.keys.of(parts, true); err != nil {
		return fmt.Errorf("httplimit: rule %q: %w", rule, err)
	}
	return m.reset(ctx, s, r, c, preflights)
}

// reset forgets the counters of c and preflights, and what is held of a ban.
func (m *Middleware) reset(ctx context.Context, s *settings, r *rule, c, preflights limiter.Charge) error {
	for _, store := range []limiter.Store{m.local(), s.store} {
		for _, c.Limit = range r.counters() { // one call each: a store has its time-out for one
			preflights.Limit = c.Limit
			if err := m.resetStore(ctx, store, []limiter.Charge{c, preflights}); err != nil {
				return fmt.Errorf("httplimit: rule %q: %w", r.Name, err)
			}
		}
	}
	if r.ban == nil {
		return nil
	}
	if err := m.resetStore(ctx, s.store, r.ban.counters(c.Key)); err != nil {
		return fmt.Errorf("httplimit: rule %q: %w", r.Name, err)
	}
	return nil
}

// chargeOf returns the charge of a client under a rule, with neither Cost nor Mode.
func (m *Middleware) chargeOf(name string, parts []string) (*settings, *rule, limiter.Charge, error) {
	s := m.settings.Load()
	r, err := s.rule(name)
	if err != nil {
		return nil, nil, limiter.Charge{}, err
	}
	key, err := r.keys.of(parts, false)
	if err != nil {
		return nil, nil, limiter.Charge{}, fmt.Errorf("httplimit: rule %q: %w", name, err)
	}
	return s, r, limiter.Charge{Scope: r.scope, Key: key, Limit: r.Limit}, nil
}
