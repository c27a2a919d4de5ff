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
			all = append(all, &keyShape{ID: id, Text: text, Parts: httplimit.KeyParts(key)})
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

// standing is what one rule says of a client.
type standing struct {
	RuleID    string `json:"ruleId"`
	Rule      string `json:"rule"`
	Namespace string `json:"namespace"`
	Key       string `json:"key"` // as the store has it
	keyText
	State       string              `json:"state"` // allowed, refused, banned, shadow, or unknown
	BannedUntil *time.Time          `json:"bannedUntil"`
	Verdicts    []httplimit.Verdict `json:"verdicts"` // by the rule's limit, and by each of its plans
	Recent      *client             `json:"recent"`   // null: not among the clients refused most
	Error       string              `json:"error,omitempty"`
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

// checkKey returns an error for what no store has as a key: it would stand in the list of activities and in the log.
func checkKey(key string) error {
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("this is no key of a store: want up to %d printable ASCII characters", maxKey)
	}
	return nil
}

// lookUp asks what the rules say of a client, and spends nothing.
func (c *Console) lookUp(ctx context.Context, o *overview, q query) found {
	f := found{Time: time.Now(), Results: []standing{}}
	if q.shape == nil {
		f.Key, f.Rule = q.key, q.rule.id
		for _, r := range o.watch.sameKey(q.rule, q.key) {
			f.Results = append(f.Results, o.standingOf(ctx, r, q.key)...)
		}
		f.shown = q.rule.readKey(q.key).Parts
		return f
	}
	f.Shape = q.shape.Text
	f.Token = c.seal.seal(q.shape.ID, q.parts)
	for i, part := range q.shape.Parts {
		if part.Secret {
			f.shown = append(f.shown, "a secret")
		} else {
			f.shown = append(f.shown, printable(q.parts[i]))
		}
	}
	for _, r := range q.shape.rules {
		key, err := r.configs[0].middleware.KeyOf(r.name, q.parts...)
		if err != nil {
			f.Results = append(f.Results, standing{
				RuleID: r.id, Rule: r.name, Namespace: r.namespace, State: "unknown", Error: clip(err.Error()),
			})
			continue
		}
		f.Results = append(f.Results, o.standingOf(ctx, r, key)...)
	}
	return f
}

// standingOf asks each of the stores in which a rule counts.
func (o *overview) standingOf(ctx context.Context, r *ruleState, key string) (all []standing) {
	for i := range r.configs {
		if one := &r.configs[i]; i == 0 || !sameStore(one.config.Store, r.configs[0].config.Store) {
			all = append(all, o.ask(ctx, r, one, key))
		}
	}
	return all
}

func (o *overview) ask(ctx context.Context, r *ruleState, in *ruleConfig, key string) standing {
	s := standing{
		RuleID: r.id, Rule: r.name, Namespace: r.namespace, Key: key, keyText: r.readKey(key),
		Recent: o.recent(r, key), State: "unknown",
	}
	answer, err := in.middleware.PeekKey(ctx, r.name, key)
	if err != nil {
		s.Error = clip(err.Error())
		return s
	}
	s.Verdicts = answer.Verdicts
	if answer.Banned > 0 {
		until := time.Now().Add(answer.Banned)
		s.BannedUntil = &until
	}
	switch v := &answer.Verdicts[0]; {
	case answer.Banned > 0:
		s.State = "banned"
	case v.RetryAfter > 0 && v.Allowed:
		s.State = "shadow"
	case v.Source == httplimit.SourceNone:
	case v.Allowed:
		s.State = "allowed"
	default:
		s.State = "refused"
	}
	return s
}

// recent returns what was counted of a client lately, nil if it is not among those that were refused most.
func (o *overview) recent(r *ruleState, key string) *client {
	if r.series == nil {
		return nil
	}
	t := topReader{keep: func(k *topKey) bool { return string(k.text) == key }}
	top := r.series.refused.top(&t, o.second+1, 1)
	if len(top.Keys) == 0 {
		return nil
	}
	k := r.client(&top.Keys[0])
	return &k
}
