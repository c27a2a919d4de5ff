package policy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// check adds the faults of a policy that was read: what httplimit.New would refuse in any program.
func (p *Policy) check(f *faults) {
	for i := range p.Rules {
		p.Rules[i].checkCost(fmt.Sprintf("rules[%d]", i), f)
	}
	cfg := p.config(p.anyNames(), f)
	p.validate(cfg, f)
}

// checkCost adds a fault for each limit that a request can never be within, if that is not what it says.
func (r *Rule) checkCost(path string, f *faults) {
	check := func(path string, l limiter.Limit) {
		if l.Validate() == nil && l.Requests > 0 && r.Cost > l.Capacity() {
			f.add(path, "it has room for %d and a request costs %d, so that none would pass, "+
				"want a larger limit, or one of 0", l.Capacity(), r.Cost)
		}
	}
	check(path+".limit", r.Limit)
	for _, name := range r.planNames() {
		check(path+".plans."+name, r.Plans[name])
	}
}

// anyNames returns Names that have all that the policy refers to.
func (p *Policy) anyNames() Names {
	n := Names{
		Keys: make(map[string]httplimit.Key), When: make(map[string]func(*http.Request) bool),
		Plan: func(*http.Request) (string, error) { return "", nil },
	}
	for i := range p.Rules {
		for _, parts := range slices.Concat(p.Rules[i].Key.alternatives, p.Rules[i].NoKey.alternatives) {
			for _, part := range parts {
				n.Keys[part.Name] = httplimit.KeyFunc(noIdentity)
			}
		}
		for _, c := range p.Rules[i].When {
			n.When[c.Name()] = func(*http.Request) bool { return true }
		}
	}
	return n
}

func noIdentity(*http.Request) (string, error) { return "", httplimit.ErrNoKey }

// validate adds the faults that httplimit finds in the configuration of the policy, at their paths in the policy. What
// is faulty already is left out.
func (p *Policy) validate(cfg httplimit.Config, f *faults) {
	joined, _ := cfg.Validate().(interface{ Unwrap() []error })
	if joined == nil {
		return
	}
	type found struct{ path, reason string }
	var all []found
	for _, err := range joined.Unwrap() {
		one := found{reason: err.Error()}
		var fault *httplimit.ConfigError
		if errors.As(err, &fault) {
			one = found{p.pathOf(fault.Field), fault.Reason}
		}
		one.reason = plainReason(one.reason)
		if !f.has(one.path) && !p.follows(one.path, f) && !slices.Contains(all, one) { // several rules share the proxies
			all = append(all, one)
		}
	}
	for _, one := range all {
		f.add(one.path, "%s", one.reason)
	}
}

// follows reports whether a fault comes of another one: the plans of a rule with inFlight take the window of its limit.
func (p *Policy) follows(path string, f *faults) bool {
	rule, _, isPlan := strings.Cut(path, ".plans.")
	return isPlan && f.has(rule+".limit")
}

// pathOf returns the path in the policy of a field of its configuration, such as "Rules[1].Key.Compose[0]".
func (p *Policy) pathOf(field string) string {
	if i := strings.Index(field, "TrustedProxies["); i >= 0 { // of each "ip"
		return "trustedProxies" + strings.TrimPrefix(field[i:], "TrustedProxies")
	}
	parts := strings.Split(field, ".")
	for i, part := range parts {
		parts[i] = lowerFirst(part)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	var rule, plan int
	if n, _ := fmt.Sscanf(field, "Rules[%d].Plans[%d]", &rule, &plan); n == 2 {
		return parts[0] + ".plans." + p.Rules[rule].planNames()[plan]
	}
	if parts[1] == "key" || parts[1] == "noKey" {
		return parts[0] + "." + parts[1]
	}
	return strings.Join(parts, ".")
}

func lowerFirst(name string) string {
	return string(unicode.ToLower(rune(name[0]))) + name[1:]
}
