package console

import (
	"context"
	"errors"
	"time"
)

// reset lets a client in again, under one rule or under all of its shape, and notes who did so.
func (c *Console) reset(ctx context.Context, operator string, q query) error {
	rules := []*ruleState{q.rule}
	if q.rule == nil {
		rules = q.shape.rules
	}
	var faults []error
	for _, r := range rules {
		key, err := q.key, error(nil)
		if q.shape != nil {
			key, err = r.configs[0].middleware.KeyOf(r.name, q.parts...)
		}
		if err == nil {
			err = r.reset(ctx, q, key)
		}
		one := activity{
			Time: time.Now(), Operator: operator, Action: "reset", RuleID: r.id, Rule: r.name, Key: key,
			keyText: r.readKey(key),
		}
		if err != nil {
			one.Error = clip(err.Error())
			faults = append(faults, err)
		}
		c.acts.note(c.logger(), one)
	}
	c.changed.Store(true)
	return errors.Join(faults...)
}

// reset lets a client in again in each Middleware that has the rule, also where another one's store fails.
func (r *ruleState) reset(ctx context.Context, q query, key string) error {
	var faults []error
	for i := range r.configs {
		if m := r.configs[i].middleware; q.shape != nil {
			faults = append(faults, m.Reset(ctx, r.name, q.parts...))
		} else {
			faults = append(faults, m.ResetKey(ctx, r.name, key))
		}
	}
	return errors.Join(faults...)
}
