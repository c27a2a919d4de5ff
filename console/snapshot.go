package console

import (
	"fmt"
	"slices"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

// What the page shows, the streams send and the API answers is one snapshot, which is made at most once a second, when
// somebody asks. The JSON names are stable.

const (
	nowSeconds    = 10 // "now" is the last ten whole seconds
	bucketSeconds = 10
	buckets       = keptSeconds / bucketSeconds
	topShown      = 12 // clients of all rules together
	topOfRule     = 50
)

type overview struct {
	Time     time.Time  `json:"time"`
	Process  process    `json:"process"`
	Requests requests   `json:"requests"`
	Rules    []*ruleRow `json:"rules"`
	Refused  []client   `json:"refused"`   // the clients refused most, of all rules
	Near     []client   `json:"nearLimit"` // the clients nearest to their limits
	Stores   []storeRow `json:"stores"`
	Problems []problem  `json:"problems"`

	watch  *watch
	second uint32
	live   requestSeries // as the series of Requests, but up to now: the last bucket is not over
}

// process says whose figures these are: one process of several.
type process struct {
	Host      string    `json:"host"`
	PID       int       `json:"pid"`
	Instances int       `json:"instances"` // how many processes share the stores
	Started   time.Time `json:"started"`   // when the Console was made
	Watched   int       `json:"middlewares"`
	NotShown  bool      `json:"rulesNotShown"` // there are more rules than the Console counts
}

// requests is what became of all requests and calls of Allow.
type requests struct {
	Now    requestCounts `json:"now"`  // in the last Seconds
	Last   requestCounts `json:"last"` // in the last 15 minutes, or since the start
	Series requestSeries `json:"series"`
	Window window        `json:"window"`
}

// window says which stretches of time the figures are of.
type window struct {
	NowSeconds    int       `json:"nowSeconds"`
	LastSeconds   int       `json:"lastSeconds"`
	BucketSeconds int       `json:"bucketSeconds"`
	From          time.Time `json:"from"` // of the series: the start of the first bucket
}

type requestCounts struct {
	Passed      uint64 `json:"passed"`
	Refused     uint64 `json:"refused"`
	Unavailable uint64 `json:"unavailable"`
}

func (n requestCounts) Total() uint64 { return n.Passed + n.Refused + n.Unavailable }

type requestSeries struct {
	Passed      []uint64 `json:"passed"`
	Refused     []uint64 `json:"refused"` // with those that were answered 503
	Unavailable []uint64 `json:"unavailable"`
}

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
		Allowed: t[allowedStore] + t[allowedLocal], Refused: t[refusedStore] + t[refusedCache] + t[refusedLocal],
		Banned: t[bannedStore] + t[bannedCache], ShadowRefused: t[shadowStore] + t[shadowCache] + t[shadowLocal],
		Open: t[open], Closed: t[closed], Unjudged: t[unjudged], NearLimit: t[nearLimit],
		ByStore: t[allowedStore] + t[refusedStore] + t[shadowStore] + t[bannedStore],
		ByCache: t[refusedCache] + t[shadowCache] + t[bannedCache],
		ByLocal: t[allowedLocal] + t[refusedLocal] + t[shadowLocal],
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

type storeRow struct {
	Name  string              `json:"name"`
	Kind  string              `json:"kind"`
	Rules []string            `json:"rules"`
	Stats *limiter.StoreStats `json:"stats"` // null: the store does not tell
}

// snapshot returns what there is to show now. It is shared and not to be changed.
func (c *Console) snapshot() *overview {
	c.snapshots.Lock()
	defer c.snapshots.Unlock()
	second := c.second()
	if c.latest == nil || c.latest.second != second || c.changed.Swap(false) {
		c.latest = c.take(second)
	}
	return c.latest
}

// take makes a snapshot. The last whole second is the latest that it shows.
func (c *Console) take(second uint32) *overview {
	w := c.look()
	o := &overview{
		Time: time.Unix(int64(second), 0), second: second, watch: w,
		Process: process{
			Host: c.host, PID: c.pid, Instances: w.instances, Started: c.started, Watched: len(w.configs),
			NotShown: len(c.series.all()) >= maxSeries,
		},
		Rules: []*ruleRow{}, Refused: []client{}, Near: []client{}, Stores: []storeRow{}, Problems: []problem{},
	}
	o.Requests.Window = c.window(second)
	o.readRequests(c.total)
	for _, r := range w.rules {
		o.Rules = append(o.Rules, o.row(r))
	}
	o.Refused, o.Near = o.clients()
	for _, s := range w.stores {
		o.Stores = append(o.Stores, storeRow{Name: s.name, Kind: s.kind, Rules: s.rules, Stats: s.stats})
	}
	o.findProblems()
	return o
}

// window says what the figures at a second are of: never of time before the start. Buckets begin at round seconds, and
// the last one is the last that is over.
func (c *Console) window(second uint32) window {
	lived := max(1, int(second)-int(c.startedNano/int64(time.Second)))
	end := second / bucketSeconds * bucketSeconds
	return window{
		NowSeconds: min(nowSeconds, lived), LastSeconds: min(keptSeconds, lived), BucketSeconds: bucketSeconds,
		From: time.Unix(int64(end)-keptSeconds, 0),
	}
}

// seconds returns the history of the 15 minutes up to the last whole second; the series of buckets begins at offset
// from it, which may be a few seconds before.
func (o *overview) seconds(h *history) (all []tally, firstBucket int) {
	from := uint32(o.Requests.Window.From.Unix())
	all = make([]tally, o.second-from)
	h.read(from, all)
	return all, len(all) - keptSeconds
}

func (o *overview) readRequests(h *history) {
	all, spare := o.seconds(h)
	q := &o.Requests
	q.Now, q.Last = requestsOf(all[len(all)-nowSeconds:]), requestsOf(all[spare:])
	for i := range buckets {
		n := requestsOf(all[i*bucketSeconds : (i+1)*bucketSeconds])
		q.Series.Passed = append(q.Series.Passed, n.Passed)
		q.Series.Refused = append(q.Series.Refused, n.Refused)
		q.Series.Unavailable = append(q.Series.Unavailable, n.Unavailable)
	}
	o.readLive(all)
}

// readLive makes the series that ends now: the rate of the last bucket is that of the seconds of it that are over.
func (o *overview) readLive(all []tally) {
	o.live = o.Requests.Series
	over := len(all) - keptSeconds
	if over == 0 {
		return
	}
	n := requestsOf(all[keptSeconds:])
	add := func(series []uint64, last uint64) []uint64 {
		return append(slices.Clone(series[1:]), last*bucketSeconds/uint64(over))
	}
	o.live = requestSeries{
		Passed: add(o.live.Passed, n.Passed), Refused: add(o.live.Refused, n.Refused),
		Unavailable: add(o.live.Unavailable, n.Unavailable),
	}
}

func requestsOf(seconds []tally) requestCounts {
	var sum tally
	for i := range seconds {
		sum.add(&seconds[i])
	}
	return requestCounts{Passed: sum[passed], Refused: sum[refused], Unavailable: sum[unavailable]}
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
	all, spare := o.seconds(&r.series.history)
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

// clip shortens a text that may be anybody's.
func clip(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
