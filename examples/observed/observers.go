package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/httplimit/httplimit"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	promlimit "github.com/httplimit/httplimit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace"
)

// observers are those who are told of each request: one set for all Middlewares.
type observers struct {
	all      httplimit.Observer
	scraped  *promlimit.Observer
	spans    *otellimit.Observer
	registry *prometheus.Registry
}

func newObservers(client httplimit.Key, logger *slog.Logger) (*observers, error) {
	o := &observers{registry: prometheus.NewRegistry()}
	var err error
	if o.scraped, err = promlimit.New(promlimit.Config{Registerer: o.registry}); err != nil {
		return nil, err
	}
	// Without a MeterProvider, also a global one, its metrics go nowhere: here Prometheus has them.
	if o.spans, err = otellimit.New(otellimit.Config{}); err != nil {
		return nil, err
	}
	refusals := httplimit.LogObserver(logger, httplimit.LogOptions{Client: client, Shadow: true})
	o.all = httplimit.Observers(o.scraped, o.spans, refusals)
	return o, nil
}

// watch adds what must be asked for: limits in force, degraded rules, stores.
func (o *observers) watch(m ...*httplimit.Middleware) {
	o.scraped.Watch(m...)
	o.spans.Watch(m...)
}

// page is what Prometheus scrapes.
func (o *observers) page() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{}))
	return mux
}

// newTracing returns a layer that begins a span for each request, as otelhttp.NewHandler does, and prints it. It stands
// outside of the limits, which set attributes on the span.
func newTracing(wanted bool) (func(http.Handler) http.Handler, error) {
	if !wanted {
		return func(next http.Handler) http.Handler { return next }, nil
	}
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(os.Stdout))
	if err != nil {
		return nil, err
	}
	tracer := trace.NewTracerProvider(trace.WithSyncer(exporter)).Tracer("observed")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, span := tracer.Start(r.Context(), r.Method)
			defer span.End()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}, nil
}
