package httplimit

import (
	"context"
	"fmt"
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
// where the identity behind them is a secret that nobody knows. It asks the store once for each Verdict, and once more
// for a Ban. While the store is away it is as [Middleware.Peek].
func (m *Middleware) PeekKey(ctx context.Context, rule, key string) (Standing, error) {
	s, r, c, err := m.chargeOfKey(rule, key)
	if err != nil {
		return Standing{}, err
	}
	standing := Standing{Key: key}
	anyWindow := func(limiter.Limit) error { return nil } // a look makes no counter
	for i, limit := range append([]limiter.Limit{r.Limit}, r.Plans...) {
		if c.Limit = limit; i > 0 {
			if c.Limit, err = r.replacement(limit, anyWindow); err != nil {
				return Standing{}, fmt.Errorf("httplimit: rule %q: %w", rule, err)
			}
		}
		v, err := m.ask(ctx, s, r, c, limiter.Peek)
		if err != nil {
			return Standing{}, err
		}
		standing.Verdicts = append(standing.Verdicts, v)
	}
	if r.ban != nil && standing.Verdicts[0].Source != SourceLocal {
		ban := []limiter.Charge{r.ban.ask(key, limiter.Peek)}
		if _, err := m.askStore(keepValues(ctx), s.store, ban); err == nil && !ban[0].Allowed {
			standing.Banned = ban[0].RetryAfter
		}
	}
	return standing, nil
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
