package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// Describe returns what a configuration that is in force says as a policy: for people to read, and to go on from. Of
// one that [Policy.Config] has made it is that policy, but for the names of the program's keys.
//
// What only Go can say stands in it as "name:" and where it comes from, or, where a policy has no place for it, in
// unsaid: a sentence each, such as `rules[0] "api".cost: the program has a function for it`. No secret is in either.
//
//	p, unsaid := policy.Describe(m.Config())
//	text, err := json.MarshalIndent(p, "", "  ")
func Describe(cfg httplimit.Config) (p *Policy, unsaid []string) {
	d := describer{Policy: &Policy{Namespace: cfg.Namespace, Headers: cfg.Headers, Instances: max(0, cfg.Instances)}}
	if d.Headers == httplimit.RateLimitFields {
		d.Headers = 0
	}
	for i := range cfg.Rules {
		d.findProxies(cfg.Rules[i].Key)
		d.findProxies(cfg.Rules[i].NoKey)
	}
	for i := range cfg.Rules {
		d.rule = fmt.Sprintf("rules[%d] %q", i, cfg.Rules[i].Name)
		d.Rules = append(d.Rules, d.describe(&cfg.Rules[i]))
	}
	if cfg.KeySecret != nil {
		d.unsaid = append(d.unsaid, "the program has a KeySecret")
	}
	return d.Policy, d.unsaid
}

// describer makes a policy of a configuration.
type describer struct {
	*Policy
	rule   string // the path of the one at work
	unsaid []string
}

func (d *describer) leave(field, what string) {
	d.unsaid = append(d.unsaid, d.rule+"."+field+": "+what)
}

func (d *describer) describe(r *httplimit.Rule) Rule {
	said := Rule{
		Name: r.Name, Key: d.key(r.Key), Limit: usual(r.Limit, r.InFlight), InFlight: r.InFlight, Failure: r.Failure,
		Shadow: r.Shadow, Percent: r.Percent, Private: r.Private,
	}
	said.NoKey = d.noKey(r.NoKey)
	d.describeFunctions(r, &said)
	if r.Ban != (httplimit.Ban{}) {
		said.Ban = &Ban{After: r.Ban.After, Within: Duration(r.Ban.Within), For: Duration(r.Ban.For)}
	}
	return said
}

// usual returns a limit as a policy has it: which algorithm a rule with InFlight has need not be said.
func usual(l limiter.Limit, inFlight bool) limiter.Limit {
	if inFlight && l.Algorithm == limiter.StrictWindow {
		l.Algorithm = limiter.SlidingWindow
	}
	return l
}

// describeFunctions fills in what the functions of a rule say: all of it where they come from a policy, else where they
// come from.
func (d *describer) describeFunctions(r *httplimit.Rule, said *Rule) {
	switch {
	case r.When == nil:
	case isOurs(r.When):
		r.When(ask(said))
	default:
		said.When = []Condition{{text: namePrefix + plainName(goName(r.When))}}
	}
	d.describePlans(r, said)
	switch {
	case r.Cost == nil:
	case isOurs(r.Cost):
		said.Cost, _ = r.Cost(ask(said))
	default:
		d.leave("cost", "the program has a function for it, "+goName(r.Cost))
	}
	switch {
	case r.CountStatus == nil:
	case isOurs(r.CountStatus):
		for status := leastStatus; status <= mostStatus; status++ {
			if r.CountStatus(status) {
				said.CountStatus = append(said.CountStatus, status)
			}
		}
	default:
		d.leave("countStatus", "the program has a function for it, "+goName(r.CountStatus))
	}
}

func (d *describer) describePlans(r *httplimit.Rule, said *Rule) {
	switch {
	case r.LimitFunc == nil:
		return
	case isOurs(r.LimitFunc):
		_, _ = r.LimitFunc(ask(said))
		return
	}
	d.leave("plans", "the program has a function that chooses the limit, "+goName(r.LimitFunc))
	said.Plans = make(map[string]limiter.Limit)
	for _, l := range r.Plans {
		l = usual(l, r.InFlight)
		said.Plans[l.String()] = l // their names are known to the function
	}
}

// plainName returns the end of a name in Go, with nothing but what a name in a policy may have.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if isLetterOrDigit(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return -1
	}, name[strings.LastIndexByte(name, '/')+1:])
	return name[max(0, len(name)-maxName):]
}

// combined is a key of several. The keys of httplimit tell it to this package.
type combined interface{ Keys() []httplimit.Key }

// networked is a key that goes through trusted proxies, likewise.
type networked interface {
	String() string
	TrustedProxies() []netip.Prefix
}

// networks calls found with the trusted proxies of each "ip" in a key.
func networks(key httplimit.Key, found func([]netip.Prefix)) {
	switch k := key.(type) {
	case combined:
		for _, part := range k.Keys() {
			networks(part, found)
		}
	case networked:
		if k.String() == string(IP) {
			found(k.TrustedProxies())
		}
	}
}

// findProxies takes the trusted proxies of the first key that has some for those of the policy.
func (d *describer) findProxies(key httplimit.Key) {
	networks(key, func(proxies []netip.Prefix) {
		if len(d.TrustedProxies) == 0 {
			d.TrustedProxies = proxies
		}
	})
}

// otherClientIP is the text of a ClientIP that has other trusted proxies than the policy.
const otherClientIP = "ClientIP"

func (d *describer) key(key httplimit.Key) Key {
	same := true
	networks(key, func(proxies []netip.Prefix) { same = same && slices.Equal(proxies, d.TrustedProxies) })
	if !same {
		return Key{[][]Identity{{{Name, otherClientIP}}}}
	}
	k, err := ParseKey(fmt.Sprint(key))
	if err != nil {
		return Key{[][]Identity{{{Name, plainName(fmt.Sprintf("%T", key))}}}}
	}
	return k
}

// noKey is key for a NoKey. Nil is the socket peer, no NoKey in a policy is the "ip" through its trusted proxies.
func (d *describer) noKey(key httplimit.Key) Key {
	if key == nil {
		key = httplimit.ClientIP()
	}
	k := d.key(key)
	if k.String() == string(IP) {
		return Key{}
	}
	return k
}
