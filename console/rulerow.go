package console

import (
	"fmt"
	"time"

	"github.com/httplimit/httplimit"
)

// counts is what a rule said of requests. The sources add up to the decisions.
type counts struct {
	Allowed       uint64 `json:"allowed"`
	Refused       uint64 `json:"refused"`
	Banned        uint64 `json:"banned"`
	ShadowRefused uint64 `json:"shadowRefused"`
	Open          uint64 `json:"open"`
	Closed        uint64 `json:"closed"`
	Unjudged      uint64 `json:"unjudged"`
	NearLimit     uint64 `json:"nearLimit"` // of Allowed

	ByStore uint64 `json:"byStore"`
	ByCache uint64 `json:"byCache"`
	ByLocal uint64 `json:"byLocal"`
	ByNone  uint64 `json:"byNone"`
}

func (t *tally) counts() counts {
	return counts{
		Allowed: t[allowedStore] + t[allowedLocal] + t[nearStore] + t[nearLocal],
		Refused: t[refusedStore] + t[refusedCache] + t[refusedLocal],
		Banned:  t[bannedStore] + t[bannedCache], ShadowRefused: t[shadowStore] + t[shadowCache] + t[shadowLocal],
		Open: t[open], Closed: t[closed], Unjudged: t[unjudged], NearLimit: t[nearStore] + t[nearLocal],
		ByStore: t[allowedStore] + t[nearStore] + t[refusedStore] + t[shadowStore] + t[bannedStore],
		ByCache: t[refusedCache] + t[shadowCache] + t[bannedCache],
		ByLocal: t[allowedLocal] + t[nearLocal] + t[refusedLocal] + t[shadowLocal],
		ByNone:  t[open] + t[closed] + t[unjudged],
	}
}

// Total is the decisions.
func (n counts) Total() uint64 { return n.ByStore + n.ByCache + n.ByLocal + n.ByNone }

// Turned is the decisions by which requests were turned away.
func (n counts) Turned() uint64 { return n.Refused + n.Banned + n.Closed }

// Passed is the decisions by which they were not.
func (n counts) Passed() uint64 { return n.Allowed + n.ShadowRefused + n.Open }

type ruleRow struct {
	ID          string     `json:"id"`
	Namespace   string     `json:"namespace"`
	Name        string     `json:"name"`
	Watched     bool       `json:"watched"` // false: its configuration is not known to the Console
	Key         string     `json:"key,omitempty"`
	Limit       string     `json:"limit,omitempty"`
	Plans       []string   `json:"plans,omitempty"`
	Dynamic     bool       `json:"limitFunc,omitempty"`
	Shadow      bool       `json:"shadow,omitempty"`
	Percent     int        `json:"percent,omitempty"`
	Private     bool       `json:"private,omitempty"`
	InFlight    bool       `json:"inFlight,omitempty"`
	CountStatus bool       `json:"countStatus,omitempty"`
	Ban         string     `json:"ban,omitempty"`
	Failure     string     `json:"failure,omitempty"`
	Now         counts     `json:"now"`
	Last        counts     `json:"last"`
	LastRefused *time.Time `json:"lastRefused"` // null: not within the last 15 minutes
	Series      ruleSeries `json:"series"`
	Degraded    *degraded  `json:"degraded"` // null: its store decides

	window *window
	before int // how many buckets of the series were over before the Console was made
}

type ruleSeries struct {
	Passed  []uint64 `json:"passed"`
	Refused []uint64 `json:"refused"`
	Shadow  []uint64 `json:"shadowRefused"`
}

type degraded struct {
	Policy string    `json:"policy"`
	Since  time.Time `json:"since"`
	Cause  string    `json:"cause"`
}

func countsOf(seconds []tally) counts {
	var sum tally
	for i := range seconds {
		sum.add(&seconds[i])
	}
	return sum.counts()
}

// bucketsBefore returns how many buckets were over before anything was counted.
func (o *overview) bucketsBefore() int {
	before := o.Process.Started.Sub(o.Requests.Window.From) / (bucketSeconds * time.Second)
	return int(max(0, min(buckets, before)))
}

func (o *overview) row(r *ruleState) *ruleRow {
	row := &ruleRow{ID: r.id, Namespace: r.namespace, Name: r.name, window: &o.Requests.Window}
	row.before = o.bucketsBefore()
	row.describe(r)
	if r.series == nil {
		empty := make([]uint64, buckets)
		row.Series = ruleSeries{Passed: empty, Refused: empty, Shadow: empty}
		return row
	}
	all, spare := o.seconds(r.series.read)
	o.addRequests(all)
	row.Now, row.Last = countsOf(all[len(all)-nowSeconds:]), countsOf(all[spare:])
	for i := range buckets {
		n := countsOf(all[i*bucketSeconds : (i+1)*bucketSeconds])
		row.Series.Passed = append(row.Series.Passed, n.Passed())
		row.Series.Refused = append(row.Series.Refused, n.Turned())
		row.Series.Shadow = append(row.Series.Shadow, n.ShadowRefused)
	}
	for i := len(all) - 1; i >= spare && row.LastRefused == nil; i-- {
		if n := all[i].counts(); n.Turned()+n.ShadowRefused > 0 {
			at := o.Time.Add(time.Duration(i-len(all)) * time.Second)
			row.LastRefused = &at
		}
	}
	return row
}

// describe fills in what is configured.
func (row *ruleRow) describe(r *ruleState) {
	if len(r.configs) == 0 {
		return
	}
	rule := &r.configs[0].rule
	row.Watched, row.Key, row.Limit = true, fmt.Sprint(rule.Key), rule.Limit.String()
	for _, plan := range rule.Plans {
		row.Plans = append(row.Plans, plan.String())
	}
	row.Dynamic, row.Shadow, row.Percent = rule.LimitFunc != nil, rule.Shadow, rule.Percent%100
	row.Private, row.InFlight, row.CountStatus = rule.Private, rule.InFlight, rule.CountStatus != nil
	row.Failure = rule.Failure.String()
	if rule.Ban != (httplimit.Ban{}) {
		row.Ban = fmt.Sprintf("after %d within %s for %s", rule.Ban.After, span(rule.Ban.Within), span(rule.Ban.For))
	}
	if h := r.failing(); h != nil {
		row.Degraded = &degraded{Policy: h.Policy.String(), Since: h.Since, Cause: clip(h.Err.Error())}
	}
}
