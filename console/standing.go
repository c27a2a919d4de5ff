package console

import (
	"slices"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
)

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

// unasked returns what is known of a client without its store.
func (o *overview) unasked(r *ruleState, key string) standing {
	return standing{
		RuleID: r.id, Rule: r.name, Namespace: r.namespace, Key: key, keyText: r.readKey(key),
		Recent: o.recent(r, key), State: "unknown", Verdicts: []httplimit.Verdict{},
	}
}

// take fills in what the store says.
func (s *standing) take(a answer[httplimit.Standing]) {
	if a.err != nil {
		s.Error = clip(a.err.Error())
		return
	}
	banned := a.value.Banned
	s.Verdicts = a.value.Verdicts
	if banned > 0 {
		until := time.Now().Add(banned)
		s.BannedUntil = &until
	}
	switch v := &s.Verdicts[0]; {
	case banned > 0:
		s.State = "banned"
	case v.RetryAfter > 0 && v.Allowed:
		s.State = "shadow"
	case v.Source == httplimit.SourceNone:
	case v.Allowed:
		s.State = "allowed"
	default:
		s.State = "refused"
	}
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

// standingSum is in one line what all rules say of a client.
type standingSum struct {
	Text   string
	Turned bool // a rule refuses it
	Doubt  bool // no rule does, but one is not known, or would
}

// sumUp returns nil where one rule was asked: what it says is short enough.
func sumUp(all []standing) *standingSum {
	if len(all) < 2 {
		return nil
	}
	rules := make(map[string][]string) // by state
	for i := range all {
		if s := &all[i]; !slices.Contains(rules[s.State], s.Rule) {
			rules[s.State] = append(rules[s.State], s.Rule)
		}
	}
	sum := &standingSum{
		Turned: len(rules["banned"])+len(rules["refused"]) > 0, Doubt: len(rules["unknown"])+len(rules["shadow"]) > 0,
	}
	var parts []string
	if !sum.Turned && len(rules["unknown"]) == 0 {
		parts = append(parts, "passes")
	}
	for _, one := range []struct{ state, text string }{
		{"banned", "banned by "}, {"refused", "refused by "}, {"unknown", "not known of "},
		{"shadow", "would be refused by "},
	} {
		if names := rules[one.state]; len(names) > 0 {
			parts = append(parts, one.text+strings.Join(names, ", "))
		}
	}
	text := strings.Join(parts, "; ")
	sum.Text = strings.ToUpper(text[:1]) + text[1:] + "."
	return sum
}
