package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/policyfile"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/policy"
)

// policyFor reads the policy, and says of each rule whether the logs tell what it needs.
func (o *planOptions) policyFor(l *logs) (replay.Policy, error) {
	p, err := policyfile.Read(o.policy, nil)
	if err != nil {
		return replay.Policy{}, err
	}
	p.TrustedProxies = append(slices.Clone(p.TrustedProxies), o.trust...)
	cfg, err := p.Config(standIns(p))
	if err != nil {
		return replay.Policy{}, err
	}
	planned := replay.Policy{Config: cfg, TrustedProxies: p.TrustedProxies}
	left := 0
	for i := range p.Rules {
		rule := plannedRule(&p.Rules[i], l)
		if planned.Rules = append(planned.Rules, rule); rule.LeftOut != "" {
			left++
		}
	}
	if left == len(planned.Rules) {
		return planned, leftOutAll(p, planned)
	}
	return planned, nil
}

// leftOutAll says why there is nothing to replay.
func leftOutAll(p *policy.Policy, planned replay.Policy) error {
	var b strings.Builder
	b.WriteString("no rule can be replayed with this log")
	for i, rule := range planned.Rules {
		fmt.Fprintf(&b, "\nrule %q: %s", p.Rules[i].Name, rule.LeftOut)
	}
	return fmt.Errorf("%s", b.String())
}

// standIns are what a policy takes from its program. Rules that need it are left out, so it decides nothing; but plans,
// of which the replay takes none.
func standIns(p *policy.Policy) policy.Names {
	n := policy.Names{Keys: map[string]httplimit.Key{}, When: map[string]func(*http.Request) bool{},
		Plan: func(*http.Request) (string, error) { return "", nil }}
	for _, rule := range p.Rules {
		for _, id := range identities(&rule) {
			if id.Kind == policy.Name {
				n.Keys[id.Name] = httplimit.Header("X-Stand-In")
			}
		}
		for _, c := range rule.When {
			if c.Name() != "" {
				n.When[c.Name()] = func(*http.Request) bool { return true }
			}
		}
	}
	return n
}

// identities returns all that a rule's keys look for.
func identities(r *policy.Rule) (all []policy.Identity) {
	for _, k := range []policy.Key{r.Key, r.NoKey} {
		for _, parts := range k.Alternatives() {
			all = append(all, parts...)
		}
	}
	return all
}

// plannedRule says what the replay has to know of a rule.
func plannedRule(r *policy.Rule, l *logs) replay.Rule {
	rule := replay.Rule{Key: r.Key.String(), LeftOut: leftOut(r, l)}
	rule.ByAddress = rule.Key == string(policy.IP)
	var when []string
	for _, c := range r.When {
		when = append(when, c.String())
	}
	rule.When = strings.Join(when, ", ")
	if len(r.Plans) > 0 {
		rule.Notes = append(rule.Notes, fmt.Sprintf("A log tells no client's plan: everybody was held to %s.", r.Limit))
	}
	if r.Shadow {
		rule.Notes = append(rule.Notes,
			"The rule is shadow: in production it refuses nothing. Its refusals are what it would report.")
	}
	if r.Percent > 0 && r.Percent < 100 {
		rule.Notes = append(rule.Notes,
			fmt.Sprintf("It was in force for %d %% of the clients, by the same hash as in production "+
				"without a KeySecret; curve and algorithms are for all clients.", r.Percent))
	}
	return rule
}

// leftOut says why a rule cannot be replayed; "" if it can.
func leftOut(r *policy.Rule, l *logs) string {
	if r.InFlight {
		return "It limits requests at once, and the log does not tell how long each took."
	}
	for _, id := range identities(r) {
		if why := untold(id, l); why != "" {
			return why
		}
	}
	for _, c := range r.When {
		if why := untoldCondition(c, l); why != "" {
			return why
		}
	}
	if len(r.CountStatus) > 0 && !l.tells().Status {
		return "It counts requests by the status of the answer, which the log does not tell."
	}
	return ""
}

// untold says why the log cannot tell an identity; "" if it can.
func untold(id policy.Identity, l *logs) string {
	const logIt = "; log it, for example with nginx's $http_%s, and say so with -format nginx:'…'"
	variable := strings.ToLower(strings.ReplaceAll(id.Name, "-", "_"))
	switch id.Kind {
	case policy.Route:
		return `Its key "route" is the router's pattern, which no log tells; write the patterns in "when" instead.`
	case policy.Cert:
		return `Its key "cert" is the client's certificate, which the log does not tell.`
	case policy.Name:
		return fmt.Sprintf("Its key %q is made by your program, so no log tells it.", id)
	case policy.Basic:
		if !l.tells().User && !l.tellsField("Authorization") {
			return `Its key "basic" is the name of the authenticated user, which the log does not tell.`
		}
	case policy.Bearer:
		if !l.tellsField("Authorization") {
			return `Its key "bearer" is a token, which the log does not tell, and should not.`
		}
	case policy.APIKey, policy.Header:
		if !l.tellsField(id.Name) {
			return fmt.Sprintf("Its key %q is a header that the log does not tell"+logIt+".", id, variable)
		}
	case policy.Cookie:
		if !l.tellsCookie(id.Name) {
			return fmt.Sprintf("Its key %q is a cookie that the log does not tell.", id)
		}
	}
	return ""
}

// untoldCondition says why the log cannot tell whether a condition holds; "" if it can.
func untoldCondition(c policy.Condition, l *logs) string {
	if c.Name() != "" {
		return fmt.Sprintf("Its condition %q is a function of your program, which no log tells.", c)
	}
	method, path, both := strings.Cut(c.String(), " ")
	if !both {
		method, path = "", c.String()
	}
	tells := l.tells()
	switch path = strings.TrimSpace(path); {
	case method != "" && !tells.Method:
		return fmt.Sprintf("Its condition %q is about the method, which the log does not tell.", c)
	case !tells.Path:
		return fmt.Sprintf("Its condition %q is about the path, which the log does not tell.", c)
	case !strings.HasPrefix(path, "/") && !tells.Host:
		return fmt.Sprintf("Its condition %q is about the host, which the log does not tell; the format vhost does.", c)
	}
	return ""
}

// checkFailAbove reports rules of -fail-above that are not there, or were left out.
func (o *planOptions) checkFailAbove(p replay.Policy) error {
	for name := range o.failAbove {
		at := slices.IndexFunc(p.Config.Rules, func(r httplimit.Rule) bool { return r.Name == name })
		if at < 0 {
			return fmt.Errorf("-fail-above: the policy has no rule %q", name)
		}
		if why := p.Rules[at].LeftOut; why != "" {
			return fmt.Errorf("-fail-above: rule %q cannot be replayed: %s", name, why)
		}
	}
	return nil
}
