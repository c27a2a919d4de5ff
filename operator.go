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
// A Shadow rule is always Allowed; its RetryAfter says how long it would have refused. [Verdict.Denied] makes the
// answer of what is not Allowed.
//
// Allow does not end with ctx, which gives the store its values only: the store's time-out bounds the wait. So a client
// cannot keep its failed login from being counted by hanging up.
//
// What a rule with a LimitFunc counts under another Algorithm or Window than those of Rule.Limit is another counter,
// which Allow, Peek and Reset do not see.
func (m *Middleware) Allow(ctx context.Context, rule string, parts ...string) (Verdict, error) {
	return m.ask(ctx, rule, parts, limiter.Enforce)
}

// Peek returns what [Middleware.Allow] would answer and spends nothing.
func (m *Middleware) Peek(ctx context.Context, rule string, parts ...string) (Verdict, error) {
	return m.ask(ctx, rule, parts, limiter.Peek)
}

// ask decides one unit of a rule in that mode; a Shadow rule is asked in its own instead of Enforce.
func (m *Middleware) ask(ctx context.Context, name string, parts []string, mode limiter.Mode) (Verdict, error) {
	s, r, c, err := m.chargeOf(name, parts)
	if err != nil {
		return Verdict{}, err
	}
	c.Cost, c.Mode = 1, mode
	observer := s.observer
	switch {
	case mode == limiter.Peek:
		observer = nil
	case r.Shadow:
		c.Mode = limiter.Shadow
	}
	d := decision{m: m, s: s, ctx: ctx, rules: []appliedRule{{rule: r}}, charges: []limiter.Charge{c}}
	d.take(keepValues(ctx), observer)
	if d.status == http.StatusServiceUnavailable {
		return Verdict{}, fmt.Errorf("httplimit: rule %q: %w", name, d.err)
	}
	v := d.verdict(0)
	v.Allowed = v.Allowed || r.Shadow
	return v, nil
}

// Reset forgets what a client has spent of a rule, also by preflights, in the store and in this process: for operators
// who unblock somebody. Other processes may refuse the client for up to a second more. parts are those of
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
	for _, store := range []limiter.Store{m.local(), s.store} {
		if err := m.resetStore(ctx, store, []limiter.Charge{c, preflights}); err != nil {
			return fmt.Errorf("httplimit: rule %q: %w", rule, err)
		}
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
