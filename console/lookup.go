package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
)

// keyShape is a kind of key: what has to be known of a client to look it up, in all rules that count by it.
type keyShape struct {
	ID    string              `json:"id"`
	Text  string              `json:"text"`
	Parts []httplimit.KeyPart `json:"parts"`
	Rules []string            `json:"rules"`

	rules []*ruleState
}

// shapes returns the kinds of key that the watched rules have.
func (w *watch) shapes() (all []*keyShape) {
	for _, r := range w.rules {
		key := r.key()
		if key == nil {
			continue
		}
		text := fmt.Sprint(key)
		id := ruleID("", text)
		if strings.Contains(text, "func") || strings.Contains(text, "context") {
			id = ruleID(r.id, text) // nobody can say whether two functions find the same
		}
		at := slices.IndexFunc(all, func(s *keyShape) bool { return s.ID == id })
		if at < 0 {
			at = len(all)
			all = append(all, &keyShape{ID: id, Text: text, Parts: append([]httplimit.KeyPart{}, httplimit.KeyParts(key)...)})
		}
		all[at].Rules = append(all[at].Rules, r.name)
		all[at].rules = append(all[at].rules, r)
	}
	return all
}

// sameKey returns the rules in which the key of a store is that of the same client: rule first, and those of its
// Middleware that count by the same Key.
func (w *watch) sameKey(rule *ruleState, key string) []*ruleState {
	rules := []*ruleState{rule}
	if isMark(key) {
		return rules // NoKey has found it
	}
	for _, s := range w.shapes() {
		if !slices.Contains(s.rules, rule) {
			continue
		}
		for _, r := range s.rules {
			if r != rule && r.configs[0].middleware == rule.configs[0].middleware {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// found is a client that was looked up.
type found struct {
	Time    time.Time  `json:"time"`
	Shape   string     `json:"shape"`
	Results []standing `json:"results"`

	Token string   `json:"-"` // sealed, for a form
	Key   string   `json:"-"` // instead of a Token: as the store has it, of one rule
	Rule  string   `json:"-"` // its id
	shown []string // its identities, without secrets
}

// Errors of a lookup, which are shown.
var (
	errNoShape = errors.New("there is no such kind of key: the configuration has changed, begin again")
	errNoRule  = errors.New("there is no such rule: the configuration has changed, begin again")
)

// query is a client that is asked for: by parts of a shape, or by its key in one rule.
type query struct {
	shape *keyShape
	parts []string
	rule  *ruleState
	key   string
}

// queryOf reads a form: shape and part, once for each; or rule and part; or rule and key; or token.
func (c *Console) queryOf(r *http.Request, w *watch) (q query, err error) {
	if err := r.ParseForm(); err != nil {
		return q, errors.New("the form cannot be read")
	}
	form := r.PostForm
	shape, parts := form.Get("shape"), form["part"]
	if token := form.Get("token"); token != "" {
		if shape, parts, err = c.seal.open(token); err != nil {
			return q, err
		}
	}
	if id := form.Get("rule"); id != "" {
		if q.rule = w.byID[id]; q.rule == nil || len(q.rule.configs) == 0 {
			return q, errNoRule
		}
		if form.Has("key") {
			q.key = form.Get("key")
			return q, checkKey(q.key)
		}
	}
	all := w.shapes()
	at := slices.IndexFunc(all, func(s *keyShape) bool {
		return s.ID == shape || shape == "" && q.rule != nil && slices.Contains(s.rules, q.rule)
	})
	if at < 0 {
		return q, errNoShape
	}
	q.shape, q.parts = all[at], parts
	if len(parts) != len(q.shape.Parts) {
		return q, fmt.Errorf("got %d parts of the key, want %d", len(parts), len(q.shape.Parts))
	}
	return q, nil
}

// ruleNames names the rules that are asked about, or reset.
func (q *query) ruleNames() string {
	if q.rule != nil {
		return q.rule.name
	}
	return strings.Join(q.shape.Rules, ", ")
}

// checkKey returns an error for what no store has as a key: it would stand in the list of activities and in the log.
func checkKey(key string) error {
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("this is no key of a store: want up to %d printable ASCII characters", maxKey)
	}
	return nil
}

// lookUp asks what the rules say of a client, all at once, and spends nothing.
func (c *Console) lookUp(ctx context.Context, o *overview, q query) found {
	f, rules := c.found(o, q)
	var calls []call[httplimit.Standing]
	var asked []int // the places in Results of what is asked
	for _, r := range rules {
		key, err := q.keyIn(r)
		if err != nil {
			f.Results = append(f.Results, standing{
				RuleID: r.id, Rule: r.name, Namespace: r.namespace, State: "unknown", Error: clip(err.Error()),
				Verdicts: []httplimit.Verdict{},
			})
			continue
		}
		for _, one := range r.perStore() {
			m := one.middleware
			peek := func(ctx context.Context) (httplimit.Standing, error) { return m.PeekKey(ctx, r.name, key) }
			calls = append(calls, call[httplimit.Standing]{c.placesOf(m), peek})
			asked = append(asked, len(f.Results))
			f.Results = append(f.Results, o.unasked(r, key))
		}
	}
	for i, answer := range askAll(ctx, calls) {
		f.Results[asked[i]].take(answer)
	}
	return f
}

// found returns what is looked up, and the rules that are to say how it stands.
func (c *Console) found(o *overview, q query) (found, []*ruleState) {
	f := found{Time: time.Now(), Results: []standing{}}
	if q.shape == nil {
		f.Key, f.Rule = q.key, q.rule.id
		f.shown = q.rule.readKey(q.key).Parts
		return f, o.watch.sameKey(q.rule, q.key)
	}
	f.Shape = q.shape.Text
	f.Token = c.seal.seal(q.shape.ID, q.parts)
	f.shown = q.shape.shown(q.parts)
	return f, q.shape.rules
}

// shown returns the identities of a client as a page may have them.
func (s *keyShape) shown(parts []string) (shown []string) {
	for i, part := range s.Parts {
		if part.Secret {
			shown = append(shown, "a secret")
		} else {
			shown = append(shown, printable(parts[i]))
		}
	}
	return shown
}

// keyIn returns the key that the client has under a rule.
func (q *query) keyIn(r *ruleState) (string, error) {
	if q.shape == nil {
		return q.key, nil
	}
	return r.configs[0].middleware.KeyOf(r.name, q.parts...)
}

// perStore returns one configuration for each of the stores in which the rule counts.
func (r *ruleState) perStore() (all []*ruleConfig) {
	for i := range r.configs {
		one := &r.configs[i]
		same := func(other *ruleConfig) bool { return sameStore(one.config.Store, other.config.Store) }
		if !slices.ContainsFunc(all, same) {
			all = append(all, one)
		}
	}
	return all
}
