package promlimit_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
	promlimit "github.com/httplimit/httplimit/metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func ExampleNew() {
	registry := prometheus.NewRegistry()
	observer, err := promlimit.New(promlimit.Config{Registerer: registry})
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

	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/", nil))
	for line := range strings.Lines(page.Body.String()) {
		if strings.HasPrefix(line, "httplimit_decisions_total") || strings.HasPrefix(line, "httplimit_rule_limit") {
			fmt.Print(line)
		}
	}
	// Output:
	// httplimit_decisions_total{namespace="",result="allowed",rule="client",source="store"} 2
	// httplimit_decisions_total{namespace="",result="refused",rule="client",source="store"} 1
	// httplimit_rule_limit{limit="2/d",namespace="",rule="client"} 2
}
