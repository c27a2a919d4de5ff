// Package otellimit shows OpenTelemetry what httplimit does: metrics, and attributes on the spans of requests.
//
//	observer, err := otellimit.New(otellimit.Config{MeterProvider: provider})
//	m, err := httplimit.New(httplimit.Config{Observer: observer, ...})
//	observer.Watch(m)
//
// It counts with [metrics.Counters], which cost some tens of nanoseconds a decision and allocate nothing, and which
// observable instruments read when metrics are collected. Only the time of a call to a remote store is recorded by the
// SDK, in the context of the request, so that the SDK can make exemplars of it. The README has the table of metrics.
//
// If the span of a request's context records, it gets the attributes httplimit.rule.name, httplimit.result,
// httplimit.source and, of a refusal, httplimit.retry_after in seconds. No span and no event is added.
//
// Attributes have the names of rules, of stores and of servers, and nothing of clients: no key, path, address or user
// agent of theirs.
package otellimit

import (
	"context"
	"fmt"
	"reflect"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/metrics"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// Config is what an [Observer] is made from. The zero Config works.
type Config struct {
	// MeterProvider makes the instruments; nil means otel.GetMeterProvider(), which may also be set later.
	MeterProvider metric.MeterProvider
}

// Observer is an [httplimit.Observer] for OpenTelemetry. Make one with [New]: a zero value counts nothing. It is safe
// for concurrent use and starts no goroutine. One is enough for all Middlewares of a program. A MeterProvider cannot
// tell two of them apart: use one.
type Observer struct {
	counters *metrics.Counters
	calls    *callTimes
}

var _ httplimit.CostObserver = (*Observer)(nil)

// scope is the name of the instrumentation.
const scope = "github.com/httplimit/httplimit/metrics/otel"

// New makes an Observer and its instruments, which live as long as the MeterProvider.
func New(cfg Config) (*Observer, error) {
	provider := cfg.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	if v := reflect.ValueOf(provider); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("otellimit: MeterProvider is a nil %T, want one such as metric.NewMeterProvider of the SDK "+
			"makes, or no value at all", provider)
	}
	o := &Observer{counters: metrics.New()}
	meter := provider.Meter(scope)
	i, err := newInstruments(meter)
	if err == nil {
		reader := &reader{counters: o.counters, instruments: i}
		_, err = meter.RegisterCallback(reader.read, i.observed...)
	}
	if err != nil {
		return nil, fmt.Errorf("otellimit: the MeterProvider makes no instruments: %w", err)
	}
	o.calls = newCallTimes(i.storeDuration)
	return o, nil
}

// Watch adds Middlewares whose limits, health and stores are shown, as they are at each collection, also after a
// Reconfigure; see [metrics.Counters.Watch]. Their decisions are counted where the Observer is that of their Config.
func (o *Observer) Watch(m ...*httplimit.Middleware) { o.counters.Watch(m...) }

// Observe implements [httplimit.Observer].
func (o *Observer) Observe(ctx context.Context, observed *httplimit.Observation) {
	o.counters.Observe(ctx, observed)
	if observed.Store > 0 && observed.Remote && o.calls != nil {
		o.calls.record(ctx, observed)
	}
	annotate(ctx, observed.Rules)
}

// ObserveCost implements [httplimit.CostObserver].
func (o *Observer) ObserveCost(ctx context.Context, c httplimit.CostChange) {
	o.counters.ObserveCost(ctx, c)
}
