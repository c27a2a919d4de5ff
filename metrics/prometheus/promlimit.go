// Package promlimit shows Prometheus what httplimit does.
//
//	observer, err := promlimit.New(promlimit.Config{Registerer: registry})
//	m, err := httplimit.New(httplimit.Config{Observer: observer, ...})
//	observer.Watch(m)
//
// It counts with [metrics.Counters], which cost some tens of nanoseconds a decision and allocate nothing, and makes
// metrics of them at each scrape. The README has the table of metrics.
//
// Labels have the names of rules, of stores and of servers, and nothing of clients: no key, path, address or user agent
// of theirs. So the number of series does not depend on who sends requests.
package promlimit

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/metrics"
	"github.com/prometheus/client_golang/prometheus"
)

// Config is what an [Observer] is made from. The zero Config works.
type Config struct {
	// Registerer is where the metrics are registered; nil means prometheus.DefaultRegisterer. For labels of your own, such
	// as the name of the service, use prometheus.WrapRegistererWith.
	Registerer prometheus.Registerer
}

// Observer is an [httplimit.Observer] for Prometheus. Make one with [New]: a zero value counts nothing. It is safe for
// concurrent use, starts no goroutine and needs no closing. One is enough for all Middlewares of a program.
type Observer struct{ counters *metrics.Counters }

var _ httplimit.CostObserver = (*Observer)(nil)

// New makes an Observer and registers its metrics. It returns an error where metrics of these names are registered
// already, as those of another Observer are.
func New(cfg Config) (*Observer, error) {
	registerer := cfg.Registerer
	if registerer == nil {
		registerer = prometheus.DefaultRegisterer
	}
	if v := reflect.ValueOf(registerer); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("promlimit: Registerer is a nil %T, want one such as prometheus.NewRegistry makes, or no "+
			"value at all", registerer)
	}
	o := &Observer{counters: metrics.New()}
	err := registerer.Register(collector{o.counters})
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		return nil, fmt.Errorf("promlimit: the Registerer has an Observer already, want one for all Middlewares: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("promlimit: the Registerer refuses the metrics: %w", err)
	}
	return o, nil
}

// Watch adds Middlewares whose limits, health and stores are shown, as they are at each scrape, also after a
// Reconfigure; see [metrics.Counters.Watch]. Their decisions are counted where the Observer is that of their Config.
func (o *Observer) Watch(m ...*httplimit.Middleware) { o.counters.Watch(m...) }

// Observe implements [httplimit.Observer].
func (o *Observer) Observe(ctx context.Context, observed *httplimit.Observation) {
	o.counters.Observe(ctx, observed)
}

// ObserveCost implements [httplimit.CostObserver].
func (o *Observer) ObserveCost(ctx context.Context, c httplimit.CostChange) {
	o.counters.ObserveCost(ctx, c)
}
