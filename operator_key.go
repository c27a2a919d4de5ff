package httplimit

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/httplimit/httplimit/internal/keyenc"
	"github.com/httplimit/httplimit/limiter"
)

// Standing is how a client stands under one rule, for operators.
type Standing struct {
	Key string // as [Observed] has it
	// Verdicts are what Allow would answer now: by Rule.Limit first, then by each of Rule.Plans.
	Verdicts []Verdict
	Banned   time.Duration // how long a ban of the client lasts yet, 0 without one
}

// KeyOf returns the key that a client has under a rule, as the store has it and an [Observer] is told it: a hash where
// it is secret. parts are those of [Middleware.Allow].
func (m *Middleware) KeyOf(rule string, parts ...string) (string, error) {
	_, _, c, err := m.chargeOf(rule, parts)
	return c.Key, err
}

// PeekKey returns how the client of that key stands, and spends nothing: for keys that an [Observer] was told, also
// where the identity behind them is a secret that nobody knows. It asks the store once, and once more about a client
// that may be banned. While the store is away it is as [Middleware.Peek].
func (m *Middleware) PeekKey(ctx context.Context, rule, key string) (Standing, error) {
	s, r, c, err := m.chargeOfKey(rule, key)
	if err != nil {
		return Standing{}, err
	}
	d := decision{m: m, s: s, ctx: ctx}
	anyWindow := func(limiter.Limit) error { return nil } // a look makes no counter
	c.Cost, c.Mode = 1, limiter.Peek
	for i, limit := range append([]limiter.Limit{r.Limit}, r.Plans...) {
		if c.Limit = limit; i > 0 {
			if c.Limit, err = r.replacement(limit, anyWindow); err != nil {
				return Standing{}, fmt.Errorf("httplimit: rule %q: %w", rule, err)
			}
		}
		d.rules = append(d.rules, appliedRule{rule: r, shadow: r.shadowsKey(key)})
		d.charges = append(d.charges, c)
	}
	d.take(keepValues(ctx))
	if d.status == http.StatusServiceUnavailable {
		return Standing{}, fmt.Errorf("httplimit: rule %q: %w", rule, d.err)
	}
	standing := Standing{Key: key, Banned: d.bannedFor(key)}
	for i := range d.rules {
		v := d.verdict(i)
		v.Allowed = v.Allowed || d.rules[i].shadow
		standing.Verdicts = append(standing.Verdicts, v)
	}
	return standing, nil
}

// bannedFor returns how long a ban of the client lasts yet, once the limits of its rule have been asked.
func (d *decision) bannedFor(key string) time.Duration {
	r := &d.rules[0]
	if r.ban == nil || d.err != nil {
		return 0
	}
	asked, banned := false, false
	for i := range d.rules {
		asked, banned = asked || d.bannable(i), banned || d.rules[i].banned
	}
	if asked && !banned {
		return 0
	}
	ban := []limiter.Charge{r.ban.ask(key, limiter.Peek)}
	if _, err := d.m.askStore(keepValues(d.ctx), d.s.store, ban); err != nil || ban[0].Allowed {
		return 0
	}
	return ban[0].RetryAfter
}

// ResetKey is [Middleware.Reset] for a key that an [Observer] was told. The preflights of a client whose key is a hash
// are left as they are: Reset finds them.
func (m *Middleware) ResetKey(ctx context.Context, rule, key string) error {
	s, r, c, err := m.chargeOfKey(rule, key)
	if err != nil {
		return err
	}
	preflights := c
	if !strings.HasPrefix(key, "#") && len(keyenc.MarkPreflight)+len(key) <= keyenc.MaxLen {
		preflights.Key = keyenc.MarkPreflight + key
	}
	return m.reset(ctx, s, r, c, preflights)
}

// chargeOfKey is chargeOf for a key as the store has it.
func (m *Middleware) chargeOfKey(name, key string) (*settings, *rule, limiter.Charge, error) {
	s := m.settings.Load()
	r, err := s.rule(name)
	if err == nil && (key == "" && r.keys.key.root.parts() > 0 || len(key) > keyenc.MaxLen) {
		err = fmt.Errorf("httplimit: rule %q: a key of %d bytes, want 1 to %d", name, len(key), keyenc.MaxLen)
	}
	if err != nil {
		return nil, nil, limiter.Charge{}, err
	}
	return s, r, limiter.Charge{Scope: r.scope, Key: key, Limit: r.Limit}, nil
}
