package otellimit

import (
	"context"
	"sync"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/metrics"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// reader tells the instruments what was counted, when they are collected.
type reader struct {
	counters *metrics.Counters
	*instruments

	mu     sync.Mutex               // one collection at a time
	seen   map[serverID]flightSizes // told already
	stores growing
}

// read is the callback of a collection. Several readers may collect at once: one after the other, so that none sees
// less than was told already.
func (r *reader) read(ctx context.Context, o metric.Observer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stores.begin()
	s := r.counters.Snapshot()
	r.count(o, r.requests, s.Requests.Passed, outcomeKey.String("passed"))
	r.count(o, r.requests, s.Requests.Refused, outcomeKey.String("refused"))
	r.count(o, r.requests, s.Requests.Unavailable, outcomeKey.String("unavailable"))
	for i := range s.Rules {
		r.rule(o, &s.Rules[i])
	}
	for i := range s.Stores {
		r.store(o, &s.Stores[i])
	}
	r.recordFlights(ctx, s.Stores)
	return nil
}

func (r *reader) rule(o metric.Observer, rule *metrics.Rule) {
	namespace, name := namespaceKey.String(rule.Namespace), ruleKey.String(rule.Name)
	for _, d := range rule.Decisions {
		r.count(o, r.decisions, d.Count, namespace, name,
			resultKey.String(d.Result.String()), sourceKey.String(d.Source.String()))
	}
	for _, c := range rule.Costs {
		result := resultKey.String(c.Result.String())
		r.count(o, r.cost, c.Units, namespace, name, result)
		if c.Refunded > 0 || c.Result == httplimit.ResultAllowed {
			r.count(o, r.refunded, c.Refunded, namespace, name, result)
		}
	}
	r.count(o, r.nearLimit, rule.NearLimit, namespace, name)
	for _, l := range rule.Limits {
		r.gauge(o, r.ruleLimit, l.Requests, namespace, name, limitKey.String(l.String()))
	}
	for _, p := range rule.Policies {
		r.flag(o, r.ruleDegraded, p.Degraded, namespace, name, policyKey.String(p.Failure.String()))
	}
}

func (r *reader) store(o metric.Observer, s *metrics.Store) {
	label := storeKey.String(s.Label)
	if s.CountsHere() {
		r.gauge(o, r.entries, s.Entries, label)
		r.count(o, r.evicted, r.stores.count(counterID{s.Label, "", "evicted"}, s.Evicted), label)
		r.count(o, r.overflowed, r.stores.count(counterID{s.Label, "", "overflowed"}, s.Overflowed), label)
	}
	if s.Capacity > 0 {
		r.gauge(o, r.capacity, s.Capacity, label)
	}
	for i := range s.Servers {
		server := &s.Servers[i]
		address := serverKey.String(server.Address)
		all := r.stores.count(counterID{s.Label, server.Address, "calls"}, server.Calls)
		failed := r.stores.count(counterID{s.Label, server.Address, "failed"}, server.Failed)
		answered := all - min(failed, all)
		r.count(o, r.calls, answered, label, address, outcomeKey.String("ok"))
		r.count(o, r.calls, failed, label, address, outcomeKey.String("error"))
		r.gauge(o, r.waiting, server.Waiting, label, address)
		r.flag(o, r.breakerOpen, !server.Healthy, label, address)
	}
}

func (r *reader) count(o metric.Observer, i metric.Int64Observable, n uint64, attributes ...attribute.KeyValue) {
	o.ObserveInt64(i, whole(n), metric.WithAttributes(attributes...))
}

func (r *reader) gauge(o metric.Observer, i metric.Int64Observable, n int64, attributes ...attribute.KeyValue) {
	o.ObserveInt64(i, n, metric.WithAttributes(attributes...))
}

func (r *reader) flag(o metric.Observer, i metric.Int64Observable, on bool, attributes ...attribute.KeyValue) {
	value := int64(0)
	if on {
		value = 1
	}
	r.gauge(o, i, value, attributes...)
}
