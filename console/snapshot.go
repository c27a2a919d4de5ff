package console

import (
	"slices"
	"strings"
	"time"

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

	watch   *watch
	second  uint32
	scratch []tally         // for one history after the other
	each    []requestCounts // of all histories together, second by second
	live    requestSeries   // as the series of Requests, but up to now: the last bucket is not over
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

func (n *requestCounts) add(other requestCounts) {
	n.Passed += other.Passed
	n.Refused += other.Refused
	n.Unavailable += other.Unavailable
}

func (n requestCounts) Total() uint64 { return n.Passed + n.Refused + n.Unavailable }

type requestSeries struct {
	Passed      []uint64 `json:"passed"`
	Refused     []uint64 `json:"refused"` // with those that were answered 503
	Unavailable []uint64 `json:"unavailable"`
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
			NotShown: c.series.full(second),
		},
		Rules: []*ruleRow{}, Refused: []client{}, Near: []client{}, Stores: []storeRow{}, Problems: []problem{},
	}
	o.Requests.Window = c.window(second)
	others, _ := o.seconds(c.others.read)
	o.addRequests(others)
	for _, r := range w.rules {
		o.Rules = append(o.Rules, o.row(r))
	}
	o.readRequests()
	o.Refused, o.Near = o.clients()
	for _, s := range w.stores {
		o.Stores = append(o.Stores, storeRow{Name: s.name, Kind: s.kind, Rules: s.rules, Stats: s.stats})
	}
	o.findProblems()
	o.scratch, o.each = nil, nil
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
func (o *overview) seconds(read func(from uint32, into []tally)) (all []tally, firstBucket int) {
	from := uint32(o.Requests.Window.From.Unix())
	all = slices.Grow(o.scratch[:0], int(o.second-from))[:o.second-from]
	clear(all)
	o.scratch = all
	read(from, all)
	return all, len(all) - keptSeconds
}

// addRequests adds the requests that one history counts.
func (o *overview) addRequests(all []tally) {
	if o.each == nil {
		o.each = make([]requestCounts, len(all))
	}
	for i := range all {
		o.each[i].add(requestCounts{all[i][passed], all[i][refused], all[i][unavailable]})
	}
}

// readRequests fills in Requests, when those of all histories are added.
func (o *overview) readRequests() {
	all, q := o.each, &o.Requests
	q.Now, q.Last = requestsOf(all[len(all)-nowSeconds:]), requestsOf(all[len(all)-keptSeconds:])
	for i := range buckets {
		n := requestsOf(all[i*bucketSeconds : (i+1)*bucketSeconds])
		q.Series.Passed = append(q.Series.Passed, n.Passed)
		q.Series.Refused = append(q.Series.Refused, n.Refused)
		q.Series.Unavailable = append(q.Series.Unavailable, n.Unavailable)
	}
	o.readLive(all)
}

// readLive makes the series that ends now: the rate of the last bucket is that of the seconds of it that are over.
func (o *overview) readLive(all []requestCounts) {
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

func requestsOf(seconds []requestCounts) (sum requestCounts) {
	for i := range seconds {
		sum.add(seconds[i])
	}
	return sum
}

// clip shortens a text that may be anybody's.
func clip(s string) string {
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
