package policy

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"

	"github.com/httplimit/httplimit/limiter"
)

// Parse reads a policy from JSON. The error joins all faults as a [*Fault] each, in the order of the text: what is no
// JSON, what has an unknown name, a name twice or in another case, and what [httplimit.New] would refuse whatever the
// store. Whether the program has the keys, conditions and plans that the policy names is for [Policy.Config] to say.
func Parse(text []byte) (*Policy, error) {
	root, fault := read(text)
	if fault != nil {
		return nil, fault
	}
	d := decoder{faults: newFaults()}
	p := d.policy(root)
	p.check(d.faults)
	if len(d.all) > 0 {
		return nil, d.err(p.ruleNames())
	}
	canonical, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	p.read = &source{text: string(canonical), places: d.places}
	return p, nil
}

func (p *Policy) ruleNames() []string {
	names := make([]string, len(p.Rules))
	for i := range p.Rules {
		if isPrintable(p.Rules[i].Name) {
			names[i] = p.Rules[i].Name
		}
	}
	return names
}

// decoder reads the nodes of a policy and collects what is wrong with them.
type decoder struct{ *faults }

// member is what an object may have: its name, and what reads its value.
type member struct {
	name string
	read func(n *node, path string)
}

func (d *decoder) policy(n *node) *Policy {
	p := &Policy{}
	d.object(n, "", []string{"rules"}, []member{
		{"$schema", d.text(&p.Schema)},
		{"namespace", d.text(&p.Namespace)},
		{"trustedProxies", list(d, &p.TrustedProxies, 0, d.proxy)},
		{"headers", d.unmarshal(&p.Headers)},
		{"instances", number(d, &p.Instances, 1, mostInstances)},
		{"rules", d.rules(p)},
	})
	return p
}

func (d *decoder) rules(p *Policy) func(*node, string) {
	read := list(d, &p.Rules, 1, d.rule)
	return func(n *node, path string) {
		if len(n.items) > mostRules {
			d.add(path, "there are %d, want at most %d: each request asks all of them", len(n.items), mostRules)
			return
		}
		read(n, path)
	}
}

const (
	mostRules     = 1000
	mostInstances = 1_000_000
	mostCost      = 1_000_000_000 // the most that a limit can be
	leastStatus   = 100
	mostStatus    = 999
)

func (d *decoder) rule(n *node, path string) Rule {
	var r Rule
	d.object(n, path, []string{"name", "key", "limit"}, []member{
		{"name", d.text(&r.Name)},
		{"key", d.unmarshal(&r.Key)},
		{"noKey", d.unmarshal(&r.NoKey)},
		{"limit", d.unmarshal(&r.Limit)},
		{"plans", d.plans(&r)},
		{"when", list(d, &r.When, 1, d.condition)},
		{"onlyFrom", list(d, &r.OnlyFrom, 1, d.network)},
		{"notFrom", list(d, &r.NotFrom, 1, d.network)},
		{"cost", number(d, &r.Cost, 1, mostCost)},
		{"countStatus", list(d, &r.CountStatus, 1, d.status)},
		{"inFlight", d.truth(&r.InFlight)},
		{"failure", d.unmarshal(&r.Failure)},
		{"shadow", d.truth(&r.Shadow)},
		{"percent", d.percent(&r)},
		{"ban", d.ban(&r)},
		{"private", d.truth(&r.Private)},
	})
	return r
}

func (d *decoder) ban(r *Rule) func(*node, string) {
	return func(n *node, path string) {
		r.Ban = &Ban{}
		d.object(n, path, []string{"after", "within", "for"}, []member{
			{"after", number(d, &r.Ban.After, 1, 1000)},
			{"within", d.unmarshal(&r.Ban.Within)},
			{"for", d.unmarshal(&r.Ban.For)},
		})
	}
}

func (d *decoder) percent(r *Rule) func(*node, string) {
	read := number(d, &r.Percent, 1, 100)
	return func(n *node, path string) {
		if n.value == json.Number("0") {
			d.add(path, `0 would be everybody, want 1 to 100, or "shadow": true for nobody`)
			return
		}
		read(n, path)
	}
}

func (d *decoder) plans(r *Rule) func(*node, string) {
	return func(n *node, path string) {
		if n.value != json.Delim('{') {
			d.add(path, `it is %s, want an object of limits: {"pro": "200/h"}`, n.is())
			return
		}
		if len(n.fields) == 0 {
			d.add(path, "it is empty, want plans, or no such name")
		}
		for _, f := range d.unique(n, path) {
			if !isPrintable(f.name) || len(f.name) > maxName {
				d.addAt(f.at, path, "%.64q is no name of a plan, want 1 to %d characters from 0x20 to 0x7E", f.name, maxName)
				continue
			}
			if r.Plans == nil {
				r.Plans = make(map[string]limiter.Limit)
			}
			var limit limiter.Limit
			at := path + "." + f.name
			d.places[at] = f.value.at
			d.unmarshal(&limit)(f.value, at)
			r.Plans[f.name] = limit
		}
	}
}

func (d *decoder) condition(n *node, path string) (c Condition) {
	d.unmarshal(&c)(n, path)
	return c
}

func (d *decoder) network(n *node, path string) (p netip.Prefix) {
	text, ok := n.value.(string)
	if !ok {
		d.add(path, "it is %s, want the text of a network, such as \"10.0.0.0/8\"", n.is())
		return p
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		d.add(path, "%.64q is no network, want one such as \"10.0.0.0/8\" or \"2001:db8::/32\"", text)
	}
	return p
}

func (d *decoder) proxy(n *node, path string) netip.Prefix {
	p := d.network(n, path)
	if p.IsValid() && p.Bits() == 0 {
		d.add(path, "%v trusts everybody to write any address, want the networks of your proxies", p)
	}
	return p
}

func (d *decoder) status(n *node, path string) (status int) {
	number(d, &status, leastStatus, mostStatus)(n, path)
	return status
}

// isPrintable reports whether text is fit for a name: visible ASCII and spaces.
func isPrintable(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7E })
}

func unknownName[T any](field, name string, known map[string]T) error {
	return fmt.Errorf("the program has no %q among Names.%s%s", name, field, listed(known))
}
