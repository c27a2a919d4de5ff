package replay

import (
	"slices"
	"strings"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// ruleUse is what a rule has done.
type ruleUse struct {
	config     httplimit.Rule
	rule       *Rule
	windows    []windowKind // the rule's own first
	comparison *comparison
	clients    map[string]*clientUse // by key
	timeline   tally
	banned     int64 // refusals by a ban
	outside    int64 // what would have been refused of clients outside of Percent
}

// clientUse is one client of a rule.
type clientUse struct {
	key               string
	conduct           *conduct // for a key by address that of the address, whatever rules it was under
	requests, refused int64
	windows           []windowUse
	contender         contender
	heat              tally
	refusals          *refusals // nil: none
}

func newRuleUse(config httplimit.Rule, rule *Rule, windows []time.Duration) ruleUse {
	u := ruleUse{config: config, rule: rule, clients: map[string]*clientUse{}, comparison: newComparison(config.Limit)}
	lengths := slices.Clone(windows)
	slices.Sort(lengths)
	u.windows = append(u.windows, newWindowKind(config.Limit.Window, config.Limit.Algorithm, config.Limit.Requests))
	for _, length := range slices.Compact(lengths) {
		if length != config.Limit.Window {
			u.windows = append(u.windows, newWindowKind(length, config.Limit.Algorithm, 0))
		}
	}
	return u
}

// see notes what a rule said of the present request.
func (r *Replay) see(u *ruleUse, o *httplimit.Observed) {
	e := r.request.e
	refused := u.refuses(o.Result)
	c := r.clientOf(u, o.Key)
	c.requests++
	u.timeline.add(&r.minutes, r.minute, refused)
	c.heat.add(&r.heat, r.heatStep, refused)
	if refused {
		c.refused++
		if c.refusals == nil {
			c.refusals = &refusals{first: e.At}
		}
		c.refusals.see(e)
	}
	counted := u.config.CountStatus == nil || e.Status == 0 || u.config.CountStatus(e.Status)
	for i := range c.windows {
		c.windows[i].see(&u.windows[i], e.At, o.Cost, counted)
	}
	u.comparison.see(&c.contender, e.At, o.Cost, counted)
}

// refuses reports whether a result is a refusal by the rule. That of a Shadow rule is one, as the policy is only planned;
// that of a client outside of Percent is none.
func (u *ruleUse) refuses(result httplimit.Result) bool {
	switch result {
	case httplimit.ResultBanned:
		u.banned++
		return true
	case httplimit.ResultRefused:
		return true
	case httplimit.ResultShadowRefused:
		if u.config.Shadow {
			return true
		}
		u.outside++
	}
	return false
}

// clientOf returns the client of a key.
func (r *Replay) clientOf(u *ruleUse, key string) *clientUse {
	c := u.clients[key]
	if c == nil {
		c = &clientUse{key: strings.Clone(key), windows: make([]windowUse, len(u.windows))}
		if c.conduct = &r.client.conduct; !u.rule.ByAddress {
			c.conduct = &conduct{}
		}
		u.clients[c.key] = c
	}
	if !u.rule.ByAddress {
		c.conduct.see(r.request.e, r.agents.declares(r.request.e.Agent))
	}
	return c
}

// refusals are what is told of a client that was refused.
type refusals struct {
	first, last int64
	agent       string
	paths       []pathCount
}

type pathCount struct {
	path string
	n    int64
}

const (
	// maxPaths is how many different paths of a refused client are counted. A further one takes the place of the rarest.
	maxPaths = 8
	// maxText bounds what is kept of a path and of a user agent, in bytes.
	maxText = 200
)

func (r *refusals) see(e *accesslog.Entry) {
	r.last = e.At
	if agent := e.Agent[:min(len(e.Agent), maxText)]; agent != r.agent {
		r.agent = strings.Clone(agent)
	}
	path := e.Path()
	path = path[:min(len(path), maxText)]
	rarest := 0
	for i := range r.paths {
		if r.paths[i].path == path {
			r.paths[i].n++
			return
		}
		if r.paths[i].n < r.paths[rarest].n {
			rarest = i
		}
	}
	if len(r.paths) < maxPaths {
		r.paths = append(r.paths, pathCount{strings.Clone(path), 1})
		return
	}
	r.paths[rarest] = pathCount{strings.Clone(path), 1}
}

// sample returns the most frequent paths, most first.
func (r *refusals) sample() []string {
	sorted := slices.Clone(r.paths)
	slices.SortStableFunc(sorted, func(a, b pathCount) int { return int(b.n - a.n) })
	var all []string
	for _, p := range sorted[:min(len(sorted), maxSamples)] {
		all = append(all, p.path)
	}
	return all
}

// maxSamples is how many paths of a client are told.
const maxSamples = 3
