// Example is a service with a page of what OpenTelemetry has collected: the metrics of its limits, and the attributes
// of the span of the last request. A service of yours has exporters in place of the page.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on")
	flag.Parse()
	if err := run(*addr); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) error {
	handler, err := newHandler()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("5 requests per 10 s and client. Try it:\n\n"+
		"\tfor i in 1 2 3 4 5 6 7; do curl -s http://%[1]s/; done\n"+
		"\tcurl -s http://%[1]s/collected\n\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newHandler() (http.Handler, error) {
	reader := metric.NewManualReader()
	observer, err := otellimit.New(otellimit.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		return nil, err
	}
	limit, err := httplimit.New(httplimit.Config{Observer: observer, Rules: []httplimit.Rule{
		{Name: "client", Key: httplimit.ClientIP(), Limit: limiter.Per(5, 10*time.Second)},
	}})
	if err != nil {
		return nil, err
	}
	observer.Watch(limit)
	hello := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") }

	spans := tracetest.NewInMemoryExporter()
	tracer := trace.NewTracerProvider(trace.WithSyncer(spans)).Tracer("example")
	traced := func(next http.Handler) http.Handler { // outside of the limiter, as otelhttp.NewHandler
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			spans.Reset() // the page shows the last one
			ctx, span := tracer.Start(r.Context(), "request")
			defer span.End()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/", traced(limit.Handler(http.HandlerFunc(hello))))
	mux.HandleFunc("/collected", func(w http.ResponseWriter, r *http.Request) { show(w, r, reader, spans) })
	return mux, nil
}

// show writes what was collected.
func show(w io.Writer, r *http.Request, reader metric.Reader, spans *tracetest.InMemoryExporter) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(r.Context(), &all); err != nil {
		_, _ = fmt.Fprintln(w, "the metrics could not be collected")
		return
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, line := range lines(m) {
				_, _ = fmt.Fprintln(w, line)
			}
		}
	}
	for _, span := range spans.GetSpans() {
		_, _ = fmt.Fprintf(w, "\nthe span of the last request: %s\n", text(attribute.NewSet(span.Attributes...)))
	}
}

// lines returns a line for each number of a metric, sorted.
func lines(m metricdata.Metrics) (all []string) {
	var points []metricdata.DataPoint[int64]
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		points = data.DataPoints
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	}
	for _, p := range points {
		all = append(all, fmt.Sprintf("%s %d %s %s", m.Name, p.Value, m.Unit, text(p.Attributes)))
	}
	slices.Sort(all)
	return all
}

func text(attributes attribute.Set) string { return attributes.Encoded(attribute.DefaultEncoder()) }
