package console

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/httplimit/httplimit"
)

// client is one key of a rule that was refused often, or is near its limit. Least <= true count <= Most + Dropped.
type client struct {
	RuleID    string `json:"ruleId"`
	Rule      string `json:"rule"`
	Namespace string `json:"namespace"`
	Key       string `json:"key"` // as the store has it
	keyText
	NoKey   bool       `json:"noKey,omitempty"`
	Least   uint64     `json:"least"`
	Most    uint64     `json:"most"`
	Dropped uint64     `json:"dropped"`
	First   time.Time  `json:"first"`
	LastAt  time.Time  `json:"last"`
	Until   *time.Time `json:"until"` // when it would pass again, or has its whole limit; null: not known, or never
	Result  string     `json:"result"`
	Left    int64      `json:"remaining"`
	Limit   int64      `json:"limit"` // the most that it can have

}

// clientList is a list of clients of one rule, with the bounds of what is not in it.
type clientList struct {
	Clients  []client  `json:"clients"`
	Since    time.Time `json:"since"`
	Counted  uint64    `json:"counted"`
	Dropped  uint64    `json:"dropped"`
	Unlisted uint64    `json:"unlisted"` // a client that is not listed was counted at most so often, Dropped apart
}

// clientsOf returns the clients that a sketch counted most.
func (o *overview) clientsOf(r *ruleState, sketch *lazySketch, t *topReader, n int) clientList {
	top := sketch.top(t, o.second, n)
	list := clientList{
		Clients: []client{}, Counted: top.Total, Dropped: top.Dropped, Unlisted: top.Unlisted,
		Since: latest(time.Unix(int64(top.Since), 0), o.Process.Started.Truncate(time.Second)),
	}
	for i := range top.Keys {
		list.Clients = append(list.Clients, r.client(&top.Keys[i]))
	}
	return list
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (r *ruleState) client(k *topKey) client {
	one := client{
		RuleID: r.id, Rule: r.name, Namespace: r.namespace, Key: k.Key, keyText: r.readKey(k.Key), NoKey: k.Last.noKey,
		Least: k.Least, Most: k.Most, Dropped: k.dropped,
		First: time.Unix(int64(k.First), 0), LastAt: time.Unix(int64(k.Last.second), 0),
		Result: httplimit.Result(k.Last.result).String(), Left: int64(k.Last.remaining), Limit: int64(k.Last.limit),
	}
	if k.Last.until > 0 {
		until := time.Unix(int64(k.Last.until), 0)
		one.Until = &until
	}
	return one
}

func (r *ruleState) readKey(stored string) keyText {
	if len(r.configs) == 0 {
		return readKey(stored, "", "")
	}
	rule := &r.configs[0].rule
	noKey := ""
	if rule.NoKey != nil {
		noKey = fmt.Sprint(rule.NoKey)
	}
	return readKey(stored, fmt.Sprint(rule.Key), noKey)
}

// clients returns the clients of all rules that were refused most, and those nearest to their limits.
func (o *overview) clients() (refused, near []client) {
	refused, near = []client{}, []client{}
	var t topReader
	for _, r := range o.watch.rules {
		if r.series == nil {
			continue
		}
		t.keep = func(k *topKey) bool { return httplimit.Result(k.Last.result) != httplimit.ResultShadowRefused }
		refused = append(refused, o.clientsOf(r, &r.series.refused, &t, topShown).Clients...)
		near = append(near, o.nearOf(r, &t, topShown)...)
	}
	slices.SortStableFunc(refused, func(a, b client) int {
		return cmp.Or(cmp.Compare(b.Least, a.Least), cmp.Compare(b.Most, a.Most))
	})
	sortNear(near)
	return refused[:min(topShown, len(refused))], near[:min(topShown, len(near))]
}

const (
	nearFor  = 60  // how many seconds ago a client may have been near its limit to be listed as near it
	mostNear = 200 // of those, the most often near are looked at
)

// nearOf returns the clients of a rule that are nearest to their limits: seen so within the last minute, and not whole
// again since.
func (o *overview) nearOf(r *ruleState, t *topReader, n int) []client {
	t.keep = func(k *topKey) bool {
		return o.second <= k.Last.second+nearFor && (k.Last.until == 0 || k.Last.until >= o.second)
	}
	all := o.clientsOf(r, &r.series.near, t, mostNear).Clients
	sortNear(all)
	return all[:min(n, len(all))]
}

func sortNear(all []client) {
	slices.SortStableFunc(all, func(a, b client) int {
		return cmp.Or(cmp.Compare(a.Left*max(1, b.Limit), b.Left*max(1, a.Limit)), cmp.Compare(b.Least, a.Least))
	})
}
