// Package replay tells what a policy would have done to the requests of access logs. It gives each of them, at its own
// time, to the [httplimit.Middleware] that decides in production, over a [Store] on the clock of the log, and counts
// what comes back. [Merge] puts the entries of several logs in order; [New] makes a [Replay], which takes them one by
// one, and whose Report tells what it has seen.
//
// Its memory grows with the clients that the logs tell of and not with their lines: what is counted by time has a
// bounded number of steps, and what algorithms remember is what they would in production.
package replay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
	"github.com/httplimit/httplimit/limiter"
)

// Policy is what is replayed.
type Policy struct {
	Config httplimit.Config // its Observer is told of each request; its Store and its Logger do not matter
	Rules  []Rule           // one for each of Config.Rules
	// TrustedProxies are those of the policy and those named on the command line. They tell clients apart where no rule
	// does; keys have theirs from the policy.
	TrustedProxies []netip.Prefix
}

// Rule is what a replay needs to know of a rule besides its configuration.
type Rule struct {
	Key, When string   // for the report
	ByAddress bool     // the key is a client's address and nothing else
	LeftOut   string   // why it is not replayed, as a sentence; "" for a rule that is
	Notes     []string // how its replay differs from production
}

// Options say what to look at. The zero Options look at the rules' own windows.
type Options struct {
	Windows   []time.Duration // lengths of windows in which to look at clients, besides each rule's own
	Top       int             // how many of the clients refused most to tell; 0: 50
	Anonymize bool            // tell no address, user or query
}

// Replay replays one policy. It is used by one goroutine, and has one of its own for each rule until Close.
type Replay struct {
	policy  Policy
	options Options
	store   *Store
	limit   *httplimit.Middleware // nil: no rule can be replayed
	rules   []ruleUse             // those that are replayed
	names   *hostNames
	hidden  *anonymizer // nil: nothing is hidden

	request   request
	address   httplimit.Key
	byAddress map[netip.Addr]*addressUse
	agents    agents
	facts     facts

	refused, clientsRefused int64
	addressRequest          http.Request

	// Of the present request:
	status   int // what became of it
	client   *addressUse
	declares bool // its agent declares itself
}

// addressUse is a client, told apart by its address.
type addressUse struct {
	conduct
	refused bool
}

const (
	defaultTop = 50
	// maxMinutes is how many steps of time are counted: a week of minutes. Longer logs are counted in longer steps.
	maxMinutes = 7 * 24 * 60
	// maxHeat is how many steps the heat map has at most.
	maxHeat = 120
)

// New returns a Replay that has seen nothing. An error tells what is wrong with the policy.
func New(p Policy, o Options) (*Replay, error) {
	if o.Top <= 0 {
		o.Top = defaultTop
	}
	r := &Replay{policy: p, options: o, store: NewStore(), names: newHostNames(), byAddress: map[netip.Addr]*addressUse{},
		agents: agents{}}
	if o.Anonymize {
		r.hidden = newAnonymizer()
	}
	r.request = request{names: r.names, proxies: len(p.TrustedProxies) > 0}
	r.address = httplimit.ClientIP(p.TrustedProxies...)
	if err := p.Config.Validate(); err != nil {
		return nil, err
	}
	return r, r.configure()
}

// configure makes the Middleware of the rules that can be replayed.
func (r *Replay) configure() (err error) {
	cfg := r.policy.Config
	cfg.Rules = nil
	for i, rule := range r.policy.Config.Rules {
		if r.policy.Rules[i].LeftOut != "" {
			continue
		}
		cfg.Rules = append(cfg.Rules, rule)
		use := newRuleUse(rule, &r.policy.Rules[i], r.options.Windows)
		use.number = len(r.rules)
		r.rules = append(r.rules, use)
	}
	if len(cfg.Rules) == 0 {
		return nil
	}
	cfg.Store, cfg.Logger, cfg.Headers = r.store, slog.New(slog.DiscardHandler), httplimit.NoHeaders
	cfg.Observer = httplimit.Observers(observer{r}, cfg.Observer)
	if r.limit, err = httplimit.New(cfg); err != nil {
		return err
	}
	for i := range r.rules {
		r.rules[i].begin()
	}
	return nil
}

// Close ends the goroutines of the Replay.
func (r *Replay) Close() {
	for i := range r.rules {
		if r.rules[i].work != nil {
			close(r.rules[i].work)
		}
	}
	r.rules, r.limit = nil, nil
}

// Request replays one request, whose entry is not to be changed any more. Times must not go back.
func (r *Replay) Request(e *accesslog.Entry) {
	if r.facts.see(e); r.facts.requests == 1 {
		for i := range r.rules { // all pictures begin with the log
			r.rules[i].minutes.at(e.At)
			r.rules[i].heat.at(e.At)
		}
	}
	if r.hidden != nil {
		r.hidden.note(e)
	}
	r.store.SetClock(e.At)
	r.request.begin(e)
	r.client, r.declares = r.findClient(e), r.agents.declares(e.Agent)
	r.client.see(e, r.declares)
	if r.limit == nil {
		return
	}
	r.status = 0
	o := r.limit.Check(&r.request)
	if e.Status != 0 {
		o.Settle(e.Status) // without a status nothing is given back: what is not known counts
	}
	o.Release()
	if r.status != 0 {
		r.refused++
		if !r.client.refused {
			r.client.refused = true
			r.clientsRefused++
		}
	}
}

// findClient returns the client of the present request, by the same walk over proxies as in production.
func (r *Replay) findClient(e *accesslog.Entry) *addressUse {
	r.addressRequest = http.Request{RemoteAddr: r.request.remote}
	if r.request.proxies && e.Forwarded != "" {
		r.addressRequest.Header = http.Header{"X-Forwarded-For": {e.Forwarded}}
	}
	addr, err := httplimit.ClientAddr(r.address, &r.addressRequest)
	if err != nil && !errors.Is(err, httplimit.ErrNoKey) {
		addr = netip.Addr{}
	}
	r.facts.seeAddress(addr)
	if addr.Is6() {
		addr = netip.PrefixFrom(addr.WithZone(""), 64).Masked().Addr()
	}
	c := r.byAddress[addr]
	if c == nil {
		c = &addressUse{}
		r.byAddress[addr] = c
	}
	return c
}

// observer hears from the Middleware what it has decided.
type observer struct{ r *Replay }

// Observe implements [httplimit.Observer].
func (o observer) Observe(_ context.Context, seen *httplimit.Observation) {
	o.r.status = seen.Status
	next := 0
	for i := range seen.Rules { // in the order of the rules, without those that did not apply
		for o.r.rules[next].config.Name != seen.Rules[i].Rule {
			next++
		}
		o.r.note(&o.r.rules[next], &seen.Rules[i])
	}
}

var _ limiter.Store = (*Store)(nil)
