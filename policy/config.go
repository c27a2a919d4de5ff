package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/httplimit/httplimit"
)

// Names are what a policy refers to and only the program has. Those that it does not refer to do no harm.
type Names struct {
	Keys map[string]httplimit.Key            // of "name:NAME" in key and noKey
	When map[string]func(*http.Request) bool // of "name:NAME" in when
	// Plan returns the plan of the client that a request comes from: a name in the plans of a rule. For "" and for a
	// name that is not among them the rule's limit holds. Its errors mean what those of httplimit.Rule.LimitFunc mean.
	Plan func(*http.Request) (string, error)
}

// Config returns the configuration that p describes. The caller adds what no policy says: Store, KeySecret, Observer,
// Logger, OnDeny and Expose. The error joins all faults as a [*Fault] each; with the place in the text if p is as
// [Parse] has returned it.
func (p *Policy) Config(n Names) (httplimit.Config, error) {
	f := newFaults()
	if err := p.recheck(f); err != nil {
		return httplimit.Config{}, err
	}
	cfg := p.config(n, f)
	p.validate(cfg, f)
	if len(f.all) > 0 {
		return httplimit.Config{}, f.err(p.ruleNames())
	}
	return cfg, nil
}

// recheck finds the faults of a policy that was made or changed in Go, and the places of one that was not.
func (p *Policy) recheck(f *faults) error {
	for i := range p.Rules {
		if _, err := json.Marshal(&p.Rules[i]); err != nil {
			f.add(fmt.Sprintf("rules[%d]", i), "%s", plainReason(err.Error()))
		}
	}
	if len(f.all) > 0 {
		return f.err(p.ruleNames())
	}
	text, err := json.Marshal(p)
	if err != nil {
		return &Fault{Reason: plainReason(err.Error())}
	}
	if p.read != nil && p.read.text == string(text) {
		f.places = p.read.places
		return nil
	}
	_, err = Parse(text)
	for _, fault := range Faults(err) {
		fault.Line, fault.Column = 0, 0 // in a text that nobody has written
	}
	return err
}

// config returns the configuration of a policy, and adds a fault for each name that n does not have.
func (p *Policy) config(n Names, f *faults) httplimit.Config {
	cfg := httplimit.Config{Namespace: p.Namespace, Headers: p.Headers, Instances: p.Instances}
	for i := range p.Rules {
		b := ruleBuilder{Policy: p, Rule: &p.Rules[i], names: n, path: fmt.Sprintf("rules[%d]", i), faults: f}
		cfg.Rules = append(cfg.Rules, b.build())
	}
	return cfg
}

// ruleBuilder makes a rule for httplimit of one of a policy.
type ruleBuilder struct {
	*Policy
	*Rule
	names  Names
	path   string
	faults *faults
}

func (b *ruleBuilder) build() httplimit.Rule {
	r := httplimit.Rule{
		Name: b.Name, Key: b.key("key", b.Key), NoKey: b.key("noKey", b.NoKey), Limit: b.Limit, When: b.when(),
		InFlight: b.InFlight, Failure: b.Failure, Shadow: b.Shadow, Percent: b.Percent, Private: b.Private,
	}
	if r.NoKey == nil {
		r.NoKey = httplimit.ClientIP(b.TrustedProxies...)
	}
	if b.Cost > 1 {
		r.Cost = constantCost(b.Cost)
	}
	if len(b.CountStatus) > 0 {
		r.CountStatus = countedStatuses(slices.Clone(b.CountStatus))
	}
	if b.Ban != nil {
		r.Ban = httplimit.Ban{After: b.Ban.After, Within: b.Ban.Within.std(), For: b.Ban.For.std()}
	}
	if len(b.Plans) > 0 {
		if b.names.Plan == nil {
			b.faults.add(b.path+".plans", "the program has no Names.Plan, which would say who has which plan")
		}
		for _, name := range b.planNames() {
			r.Plans = append(r.Plans, b.Plans[name])
		}
		r.LimitFunc = plans{maps.Clone(b.Plans), b.Limit, b.names.Plan}.limit
	}
	return r
}

// planNames returns the names of the plans in the order of httplimit.Rule.Plans.
func (r *Rule) planNames() []string { return slices.Sorted(maps.Keys(r.Plans)) }

func (b *ruleBuilder) key(field string, k Key) httplimit.Key {
	key, err := k.key(b.TrustedProxies, b.names.Keys)
	if err != nil {
		b.faults.add(b.path+"."+field, "%v", err)
	}
	return key
}

// when returns the condition of the rule, nil if it is for every request.
func (b *ruleBuilder) when() func(*http.Request) bool {
	if len(b.When) == 0 && len(b.OnlyFrom) == 0 && len(b.NotFrom) == 0 {
		return nil
	}
	w := when{texts: slices.Clone(b.When), onlyFrom: slices.Clone(b.OnlyFrom), notFrom: slices.Clone(b.NotFrom)}
	for i, c := range b.When {
		one, err := c.applies(b.names.When)
		if err != nil {
			b.faults.add(fmt.Sprintf("%s.when[%d]", b.path, i), "%v", err)
		}
		w.any = append(w.any, one)
	}
	client := httplimit.ClientIP(b.TrustedProxies...)
	if len(b.OnlyFrom) > 0 {
		w.all = append(w.all, httplimit.OnlyFrom(client, b.OnlyFrom...))
	}
	if len(b.NotFrom) > 0 {
		w.all = append(w.all, httplimit.NotFrom(client, b.NotFrom...))
	}
	return w.holds
}
