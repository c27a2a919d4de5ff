package httplimit

import (
	"context"
	"fmt"

	"github.com/httplimit/httplimit/limiter"
)

// Allow spends one unit of a rule outside its Key: for identities that are known only in a handler, such as the login
// name in a request's body. Rule.Limit holds; LimitFunc, Cost and When are not asked. A rule that is meant only for
// Allow has a [KeyFunc] that returns [ErrSkip].
//
// parts are the values that the rule's Key would have found, as they are, in the order of [Compose]; for [FirstOf] those
// of its first key; for [ClientIP] an address. The rule's Failure policy holds: with FailClosed, and for a rule or a number of parts that do not
// exist, Allow returns an error. A Shadow rule is always Allowed; its RetryAfter tells what it would have said.
//
// What a rule with a LimitFunc counts under another Algorithm or Window than those of Rule.Limit is another counter,
// which Allow, Peek and Reset do not see.
func (m *Middleware) Allow(ctx context.Context, rule string, parts ...string) (Verdict, error) {
	v, r, err := m.direct(ctx, rule, parts, limiter.Enforce)
	if err == nil && r.Shadow {
		v.Allowed = true
	}
	return v, err
}

// Peek tells what [Middleware.Allow] would answer and spends nothing.
func (m *Middleware) Peek(ctx context.Context, rule string, parts ...string) (Verdict, error) {
	v, r, err := m.direct(ctx, rule, parts, limiter.Peek)
	if err == nil && r.Shadow {
		v.Allowed = true
	}
	return v, err
}

// Reset forgets what a client has spent of a rule, in the store and in this process: for operators who unblock somebody.
// Other processes may refuse the client for up to a second more. parts are those of [Middleware.Allow]. After an error
// it may have taken effect; repeat it.
func (m *Middleware) Reset(ctx context.Context, rule string, parts ...string) error {
	s, _, c, err := m.directCharge(rule, parts)
	if err != nil {
		return err
	}
	batch := []limiter.Charge{c}
	if err := m.local().Reset(ctx, batch); err != nil {
		return fmt.Errorf("httplimit: rule %q: %w", rule, err)
	}
	if err := s.store.Reset(ctx, batch); err != nil {
		return fmt.Errorf("httplimit: rule %q: %w", rule, err)
	}
	return nil
}

func (m *Middleware) direct(ctx context.Context, rule string, parts []string, mode limiter.Mode) (Verdict, *rule, error) {
	s, r, c, err := m.directCharge(rule, parts)
	if err != nil {
		return Verdict{}, nil, err
	}
	limit := c.Limit
	c.Cost, c.Mode = 1, mode
	if r.Shadow && mode == limiter.Enforce {
		c.Mode = limiter.Shadow
	}
	if err := m.takeDirect(ctx, s, r, &c); err != nil {
		return Verdict{}, nil, fmt.Errorf("httplimit: rule %q: %w", rule, err)
	}
	return Verdict{Rule: r.name, Limit: limit, Cost: 1, Decision: c.Decision}, r, nil
}

func (m *Middleware) directCharge(name string, parts []string) (*settings, *rule, limiter.Charge, error) {
	s := m.settings.Load()
	r, err := s.rule(name)
	if err != nil {
		return nil, nil, limiter.Charge{}, err
	}
	key, err := r.keys.of(parts)
	if err != nil {
		return nil, nil, limiter.Charge{}, fmt.Errorf("httplimit: rule %q: %w", name, err)
	}
	return s, r, limiter.Charge{Scope: r.scope, Key: key, Limit: r.Limit}, nil
}

// failing is a store that cannot decide.
type failing struct{ err error }

func (f failing) Take(context.Context, []limiter.Charge) (bool, error) { return false, f.err }
func (f failing) Reset(context.Context, []limiter.Charge) error        { return f.err }
