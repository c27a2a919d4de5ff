package console

import (
	"time"

	"github.com/httplimit/httplimit"
)

// problem is a server that does not answer, or rules that their stores cannot decide.
type problem struct {
	Server string    `json:"server,omitempty"` // its store and its address
	Rules  []string  `json:"rules,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Cause  string    `json:"cause,omitempty"`
	// Effect is what becomes of the requests of Rules meanwhile.
	Effect string `json:"effect,omitempty"`
	// NextProbe is when the store asks the server again.
	NextProbe time.Time `json:"nextProbe,omitzero"`
}

// findProblems lists what is not well: servers that do not answer, and rules that their stores cannot decide.
func (o *overview) findProblems() {
	for _, s := range o.watch.stores {
		if s.stats == nil {
			continue
		}
		for _, server := range s.stats.Servers {
			if !server.Healthy {
				o.Problems = append(o.Problems, problem{
					Server: s.name + " " + server.Address, Since: server.Since, Cause: clip(server.Cause),
					NextProbe: server.NextProbe,
				})
			}
		}
	}
	servers := len(o.Problems)
	for _, row := range o.Rules {
		if row.Degraded != nil {
			o.addDegraded(row, servers)
		}
	}
}

// addDegraded adds a rule to the problem of those that fare likewise. Where a server is to blame, its cause is enough.
func (o *overview) addDegraded(row *ruleRow, servers int) {
	d, effect := row.Degraded, effectOf(row.Degraded.Policy)
	for i := servers; i < len(o.Problems); i++ {
		if p := &o.Problems[i]; p.Effect == effect {
			p.Rules = append(p.Rules, row.Name)
			if d.Since.Before(p.Since) {
				p.Since = d.Since
			}
			return
		}
	}
	p := problem{Rules: []string{row.Name}, Since: d.Since, Effect: effect}
	if servers == 0 {
		p.Cause = d.Cause
	}
	o.Problems = append(o.Problems, p)
}

// effectOf says what becomes of the requests of a rule that its store cannot decide.
func effectOf(policy string) string {
	switch policy {
	case httplimit.FailOpen.String():
		return "requests pass uncounted"
	case httplimit.FailClosed.String():
		return "requests are answered 503"
	}
	return "this process counts, up to its share of the limit"
}
