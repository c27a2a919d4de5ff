package promlimit

import (
	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// The metrics, in the order of the README's table.
var (
	decisions = describe("decisions_total", "Decisions of rules on requests, by result and by who decided.",
		"namespace", "rule", "result", "source")
	requests = describe("requests_total", "Requests by what became of them.", "outcome")
	cost     = describe("cost_total", "Units that requests were charged, and then by Spend, before what was given "+
		"back. Those of a result that is not allowed were only asked for.", "namespace", "rule", "result")
	refunded = describe("refunded_total", "Units that were given back after the decision.",
		"namespace", "rule", "result")
	nearLimit = describe("near_limit_total", "Requests that a rule allowed and that left under a fifth of the limit.",
		"namespace", "rule")
	storeDuration = describe("store_duration_seconds", "How long calls to remote stores took, one for each request "+
		"that asked.", "outcome")
	ruleLimit    = describe("rule_limit", "Units per window of the limits in force.", "namespace", "rule", "limit")
	ruleDegraded = describe("rule_degraded", "Whether the store could not decide the rule lately.",
		"namespace", "rule", "policy")
	entries    = describe("store_entries", "Counters that the store keeps in this process.", "store")
	capacity   = describe("store_capacity", "How many counters the store keeps at most.", "store")
	evicted    = describe("store_evicted_total", "Counters that were forgotten for lack of space.", "store")
	overflowed = describe("store_overflowed_total", "Decisions made from shared cells for lack of space, which may "+
		"refuse too early.", "store")
	flightSize = describe("store_flight_size", "Batches of callers that one call to a server carried.",
		"store", "server")
	calls       = describe("store_calls_total", "Calls to a server.", "store", "server", "outcome")
	waiting     = describe("store_waiting", "Batches of callers that wait for a server now.", "store", "server")
	breakerOpen = describe("store_breaker_open", "Whether the server is only probed, because its calls failed.",
		"store", "server")

	all = []*prometheus.Desc{
		decisions, requests, cost, refunded, nearLimit, storeDuration, ruleLimit, ruleDegraded,
		entries, capacity, evicted, overflowed, flightSize, calls, waiting, breakerOpen,
	}
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("httplimit_"+name, help, labels, nil)
}

// collector makes metrics of what was counted, at each scrape.
type collector struct{ counters *metrics.Counters }

// Describe implements [prometheus.Collector].
func (c collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range all {
		descs <- d
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	s := c.counters.Snapshot()
	e := emitter(to)
	e.counter(requests, s.Requests.Passed, "passed")
	e.counter(requests, s.Requests.Refused, "refused")
	e.counter(requests, s.Requests.Unavailable, "unavailable")
	e.durations(s.StoreOK, "ok")
	e.durations(s.StoreFailed, "error")
	for i := range s.Rules {
		e.rule(&s.Rules[i])
	}
	for i := range s.Stores {
		e.store(&s.Stores[i])
	}
}

// emitter sends metrics of one scrape.
type emitter chan<- prometheus.Metric

func (e emitter) rule(r *metrics.Rule) {
	for _, d := range r.Decisions {
		e.counter(decisions, d.Count, r.Namespace, r.Name, d.Result.String(), d.Source.String())
	}
	for _, c := range r.Costs {
		e.counter(cost, c.Units, r.Namespace, r.Name, c.Result.String())
		if c.Refunded > 0 || c.Result == httplimit.ResultAllowed {
			e.counter(refunded, c.Refunded, r.Namespace, r.Name, c.Result.String())
		}
	}
	e.counter(nearLimit, r.NearLimit, r.Namespace, r.Name)
	for _, l := range r.Limits {
		e.gauge(ruleLimit, float64(l.Requests), r.Namespace, r.Name, l.String())
	}
	for _, p := range r.Policies {
		e.flag(ruleDegraded, p.Degraded, r.Namespace, r.Name, p.Failure.String())
	}
}

func (e emitter) store(s *metrics.Store) {
	if s.CountsHere() {
		e.gauge(entries, float64(s.Entries), s.Label)
		e.counter(evicted, s.Evicted, s.Label)
		e.counter(overflowed, s.Overflowed, s.Label)
	}
	if s.Capacity > 0 {
		e.gauge(capacity, float64(s.Capacity), s.Label)
	}
	for i := range s.Servers {
		server := &s.Servers[i]
		e.flights(server.FlightSizes[:], server.Callers, s.Label, server.Address)
		e.counter(calls, server.Calls-min(server.Failed, server.Calls), s.Label, server.Address, "ok")
		e.counter(calls, server.Failed, s.Label, server.Address, "error")
		e.gauge(waiting, float64(server.Waiting), s.Label, server.Address)
		e.flag(breakerOpen, !server.Healthy, s.Label, server.Address)
	}
}

func (e emitter) durations(d metrics.Durations, outcome string) {
	buckets, count := make(map[float64]uint64), uint64(0)
	for i, bound := range metrics.StoreBuckets() {
		count += d.Counts[i]
		buckets[bound.Seconds()] = count
	}
	m, err := prometheus.NewConstHistogram(storeDuration, d.Count(), d.Sum.Seconds(), buckets, outcome)
	e.send(storeDuration, m, err)
}

// flights sends the sizes of flights: up to 1, 2, 4 and so on, the last of any size above.
func (e emitter) flights(sizes []uint64, callers uint64, labels ...string) {
	buckets, count := make(map[float64]uint64), uint64(0)
	last := len(sizes) - 1
	for i, n := range sizes[:last] {
		count += n
		buckets[float64(int(1)<<i)] = count
	}
	m, err := prometheus.NewConstHistogram(flightSize, count+sizes[last], float64(callers), buckets, labels...)
	e.send(flightSize, m, err)
}

func (e emitter) counter(d *prometheus.Desc, n uint64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	e.send(d, m, err)
}

func (e emitter) gauge(d *prometheus.Desc, value float64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, prometheus.GaugeValue, value, labels...)
	e.send(d, m, err)
}

func (e emitter) flag(d *prometheus.Desc, on bool, labels ...string) {
	value := 0.0
	if on {
		value = 1
	}
	e.gauge(d, value, labels...)
}

// send sends a metric, or tells whoever scrapes why there is none.
func (e emitter) send(d *prometheus.Desc, m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	e <- m
}
