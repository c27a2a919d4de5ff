package otellimit_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	otellimit "github.com/httplimit/httplimit/metrics/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func ExampleNew() {
	reader := metric.NewManualReader() // yours is a metric.NewPeriodicReader with an exporter
	observer, err := otellimit.New(otellimit.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		log.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{Observer: observer, Rules: []httplimit.Rule{
		{Name: "client", Key: httplimit.ClientIP(), Limit: limiter.PerDay(2)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	observer.Watch(m)

	hello := m.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 3 {
		hello.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, is := m.Data.(metricdata.Sum[int64]); is && m.Name == "httplimit.requests" {
			for _, point := range sum.DataPoints {
				outcome, _ := point.Attributes.Value("httplimit.outcome")
				fmt.Println(outcome.AsString(), point.Value)
			}
		}
	}
	// Unordered output:
	// passed 2
	// refused 1
	// unavailable 0
}
