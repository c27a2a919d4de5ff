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
	number     int          // among those that are replayed
	clients    []*clientUse // one for each key
	minutes    axis
	heat       axis
	timeline   tally
	banned     int64 // refusals by a ban
	outside    int64 // what would have been refused of clients outside of Percent

	batch *verdicts      // of the verdicts that nobody has counted yet
	work  chan *verdicts // to the goroutine that counts them
	free  chan *verdicts // and back
}

// verdicts are those of one rule, in the order of time.
type verdicts struct {
	all  []verdict
	done chan struct{} // closed when all of them are counted; nil: nobody asks
}

// verdict is what a rule said of one request.
type verdict struct {
	client           *clientUse
	entry            *accesslog.Entry
	cost             int64
	refused, counted bool
	declares         bool // the agent declares itself
}

// clientUse is one client of a rule.
type clientUse struct {
	key               string
	conduct           *conduct // for a key by address that of the address, whatever rules it was under
	requests, refused int64
	first             asked     // its first request
	more              *manner   // from the second request on; nil before: most clients of many logs ask once
	refusals          *refusals // nil: none
}

// asked is a request as far as its client's manner depends on it.
type asked struct {
	at, cost         int64
	refused, counted bool
}

// manner is how a client uses a rule.
type manner struct {
	windows   []windowUse
	room      [5]windowUse // for windows, where there are no more: it saves a jump through memory
	contender contender
	heat      tally
}

func newManner(windows int) *manner {
	m := &manner{}
	if m.windows = m.room[:0]; windows > len(m.room) {
		m.windows = make([]windowUse, windows)
	}
	m.windows = m.windows[:windows]
	return m
}

func newRuleUse(config httplimit.Rule, rule *Rule, windows []time.Duration) ruleUse {
	u := ruleUse{config: config, rule: rule, comparison: newComparison(config.Limit),
		minutes: axis{level: minuteLevel, most: maxMinutes}, heat: axis{most: maxHeat}}
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

// note takes what a rule said of the present request, to be counted by the rule's goroutine: that takes as long as to
// decide.
func (r *Replay) note(u *ruleUse, o *httplimit.Observed) {
	e := r.request.e
	v := verdict{client: r.clientOf(u, o.Key), entry: e, cost: o.Cost, refused: u.refuses(o.Result), declares: r.declares,
		counted: u.config.CountStatus == nil || e.Status == 0 || u.config.CountStatus(e.Status)}
	if u.batch.all = append(u.batch.all, v); len(u.batch.all) == cap(u.batch.all) {
		u.hand()
	}
}

// batchSize is how many verdicts are handed over at once.
const batchSize = 1024

// begin starts the goroutine that counts, which ends when work is closed.
func (u *ruleUse) begin() {
	u.work, u.free = make(chan *verdicts, 2), make(chan *verdicts, 4)
	for range cap(u.free) {
		u.free <- &verdicts{all: make([]verdict, 0, batchSize)}
	}
	u.batch = <-u.free
	go func() {
		for batch := range u.work {
			for i := range batch.all {
				u.count(&batch.all[i])
			}
			if batch.done != nil {
				close(batch.done)
			}
			batch.all, batch.done = batch.all[:0], nil
			u.free <- batch
		}
	}()
}

// hand hands the batch over.
func (u *ruleUse) hand() {
	u.work <- u.batch
	u.batch = <-u.free
}

// wait returns when everything is counted.
func (u *ruleUse) wait() {
	done := make(chan struct{})
	u.batch.done = done
	u.hand()
	<-done
}

// count counts one verdict.
func (u *ruleUse) count(v *verdict) {
	c, e := v.client, v.entry
	if !u.rule.ByAddress {
		c.conduct.see(e, v.declares)
	}
	c.requests++
	u.timeline.add(&u.minutes, u.minutes.at(e.At), v.refused)
	u.heat.at(e.At)
	if v.refused {
		c.refused++
		if c.refusals == nil {
			c.refusals = &refusals{first: e.At}
		}
		c.refusals.see(e)
	}
	a := asked{e.At, v.cost, v.refused, v.counted}
	if c.requests == 1 && u.comparison.isCalm(a) {
		c.first = a
		return
	}
	if c.more == nil {
		c.more = newManner(len(u.windows))
		if c.requests > 1 {
			u.see(c.more, c.first)
		}
	}
	u.see(c.more, a)
}

// see notes a request.
func (u *ruleUse) see(m *manner, a asked) {
	m.heat.add(&u.heat, u.heat.number(a.at), a.refused)
	for i := range m.windows {
		m.windows[i].see(&u.windows[i], a.at, a.cost, a.counted)
	}
	u.comparison.see(&m.contender, a.at, a.cost, a.counted)
}

// mannerOf returns how a client has used the rule.
func (u *ruleUse) mannerOf(c *clientUse) *manner {
	if c.more != nil {
		return c.more
	}
	m := newManner(len(u.windows))
	u.see(m, c.first)
	return m
}

// refuses reports whether a result is a refusal by the rule. That of a Shadow rule is one, as the policy is only
// planned; that of a client outside of Percent is none.
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
	k := r.store.use(key)
	for len(k.clients) <= u.number {
		k.clients = append(k.clients, nil)
	}
	c := k.clients[u.number]
	if c == nil {
		c = &clientUse{key: k.key, conduct: &r.client.conduct}
		if !u.rule.ByAddress {
			c.conduct = &conduct{}
		}
		k.clients[u.number] = c
		u.clients = append(u.clients, c)
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
