package console

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// reset lets a client in again, under one rule or under all of its shape, and notes who did so. A rule is reset in each
// Middleware that has it, also where another one's store fails.
func (c *Console) reset(ctx context.Context, operator string, q query) error {
	rules := []*ruleState{q.rule}
	if q.rule == nil {
		rules = q.shape.rules
	}
	var calls []call[struct{}]
	for _, r := range rules {
		for i := range r.configs {
			calls = append(calls, call[struct{}]{c.placesOf(r.configs[i].middleware), r.configs[i].resetOf(q)})
		}
	}
	answers := askAll(ctx, calls)
	var faults []error
	for _, r := range rules {
		var err error
		for range r.configs {
			err, answers = errors.Join(err, answers[0].err), answers[1:]
		}
		if errors.Is(err, errNotInTime) {
			err = fmt.Errorf("rule %q: %w", r.name, err)
		}
		c.noteReset(operator, r, q, err)
		faults = append(faults, err)
	}
	c.changed.Store(true)
	return errors.Join(faults...)
}

// resetOf returns the call that resets a client in one Middleware.
func (r *ruleConfig) resetOf(q query) func(context.Context) (struct{}, error) {
	return func(ctx context.Context) (struct{}, error) {
		if q.shape != nil {
			return struct{}{}, r.middleware.Reset(ctx, r.rule.Name, q.parts...)
		}
		return struct{}{}, r.middleware.ResetKey(ctx, r.rule.Name, q.key)
	}
}

func (c *Console) noteReset(operator string, r *ruleState, q query, err error) {
	key, _ := q.keyIn(r) // where there is none, err says why
	one := activity{
		Time: time.Now(), Operator: operator, Action: "reset", RuleID: r.id, Rule: r.name, Key: key,
		keyText: r.readKey(key),
	}
	if err != nil {
		one.Error = clip(err.Error())
	}
	c.acts.note(c.logger(), one)
}
