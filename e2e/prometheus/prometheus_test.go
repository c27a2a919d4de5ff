// Package prometheus_test has a real Prometheus scrape real services under load, and asks it what the dashboard and the
// alerts of metrics/grafana ask.
package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/e2e/servers"
	"github.com/redis/go-redis/v9"
)

const (
	scrapes = 250 * time.Millisecond // between two
	window  = "10s"                  // of rates; several scrapes also on a busy machine
)

// healthy is what each panel says while all is well with the store, and two things are not with clients: an account is
// over its limit, and a flood of addresses fills the memory of another service.
var healthy = map[string][]want{
	"Requests":                       {{"", some, anything}},
	"Share refused":                  {{"", 0.05, 0.9}},
	"Answered 503":                   {{"", 0, 0}},
	"Degraded rules":                 {{"", 0, 0}},
	"Servers given up on":            {{"", 0, 0}},
	"Fullest memory":                 {{"", 0.9, 1}},
	"Refusals by rule":               {{"rule=account result=refused", some, anything}, {"rule=export", 0, 0}},
	"Share refused, by rule":         {{"namespace=shop rule=account", 0.2, 0.6}, {"rule=export", 0, 0}},
	"Refusals by who decided":        {{"source=store", some, anything}, {"source=cache", some, anything}},
	"Near the limit":                 {{"rule=account", some, anything}},
	"What shadow rules would refuse": {{"rule=tighter", some, anything}},
	"Processes that cannot decide": {
		{"rule=account policy=fail-local", 0, 0}, {"rule=export policy=fail-closed", 0, 0},
	},
	"Decided without the store":          nil, // no series yet
	"Latency":                            {{"", some, 0.1}},
	"Failed calls":                       {{"", 0, anything}},
	"Processes that gave up on a server": {{"store=accounts", 0, 0}},
	"Callers waiting":                    {{"store=accounts", 0, anything}},
	"Callers in one call":                {{"store=accounts", 1, 128}},
	"Fill": {
		{"store=addresses", 0.9, 1}, {"store=addresses", 0, 0.1}, {"store=accounts", 0, 0.1},
	},
	"Forgotten, and decided from shared cells": {{"store=addresses", 0, anything}},
	"Rules that most is spent of": {
		{"rule=export", some, anything}, {"rule=account", some, anything}, {"rule=address", some, anything},
	},
	"Limits in force": {
		{"rule=export limit=1000/h", 1000, 1000}, {"rule=account limit=60/m", 60, 60}, {"rule=tighter limit=30/m", 30, 30},
		{"rule=address limit=300/m", 300, 300}, {"rule=address limit=1/h", 1, 1},
	},
	"annotation Alerts": {
		{"alertname=HttplimitRefusals job=shop rule=account", 1, 1},
		{"alertname=HttplimitOverflow job=small store=addresses", 1, 1},
	},
}

// outage is what panels say while Redis is away.
var outage = map[string][]want{
	"Answered 503":        {{"", some, anything}},
	"Degraded rules":      {{"", 3, 3}},
	"Servers given up on": {{"", 1, 1}},
	"Processes that cannot decide": {
		{"rule=account policy=fail-local", 1, 1}, {"rule=export policy=fail-closed", 1, 1}, {"rule=address", 0, 0},
	},
	"Decided without the store": {
		{"rule=account result=allowed source=local", some, anything},
		{"rule=export result=closed source=none", some, anything},
	},
	"Refusals by rule":                   {{"rule=export result=closed", some, anything}},
	"Failed calls":                       {{"", some, anything}},
	"Processes that gave up on a server": {{"store=accounts", 1, 1}},
	"annotation Alerts": {
		{"alertname=HttplimitDegraded rule=account", 1, 1}, {"alertname=HttplimitUnavailable job=shop", 1, 1},
	},
}

func TestDashboardAndAlerts(t *testing.T) {
	servers.RequireInstalled(t, "prometheus", "redis-server", "redis-cli", "prometheus-redis-exporter")
	program := build(t)
	store, full := servers.Redis(t), servers.Redis(t, "--maxmemory", "2mb", "--maxmemory-policy", "allkeys-lru")
	exporter, path := servers.RedisExporter(t, full.Addr())
	// Where the machine is busy, 50 ms would be an outage now and then.
	shop := run(t, program, "-redis="+store.Addr(), "-timeout=2s", "-proxies=127.0.0.0/8")
	small := run(t, program, "-proxies=127.0.0.0/8", "-per-address=1/h", "-max-keys=64")
	rules, alerts := quickAlerts(t)
	config := fmt.Sprintf("global: {scrape_interval: %v, scrape_timeout: %[1]v, evaluation_interval: %[1]v}\n"+
		"rule_files: [rules.yaml]\nscrape_configs:\n", scrapes)
	for _, job := range [][3]string{
		{"shop", shop.scraped, "/metrics"}, {"small", small.scraped, "/metrics"}, {"redis", exporter.Addr(), path},
	} {
		config += fmt.Sprintf("- {job_name: %s, metrics_path: %s, static_configs: [{targets: ['%s']}]}\n",
			job[0], job[2], job[1])
	}
	_, url := servers.Prometheus(t, config, rules)
	p := &prometheus{url}
	queries := dashboardQueries(t)

	// Counters that begin above 0 have no increase: Prometheus has to have seen them before.
	await(t, "the first scrape", func() error {
		return checkAll(p, `count by (job) ({__name__=~"httplimit_requests_total|redis_evicted_keys_total"})`,
			[]want{{"job=shop", 1, 9}, {"job=small", 1, 9}, {"job=redis", 1, 9}})
	})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	shop.send(ctx, &all, 2, mixed)
	small.send(ctx, &all, 1, flood)
	all.Go(func() { fill(ctx, full.Addr()) })

	panelsSay(t, p, queries, healthy)
	panelsAreKnown(t, queries)
	variablesOffer(t, p, map[string][]string{
		"job": {"shop", "small"}, "rule": {"account", "address", "export", "tighter"},
	})
	for name, labels := range map[string]string{
		"HttplimitRefusals": "job=shop namespace=shop rule=account severity=ticket",
		"HttplimitOverflow": "job=small store=addresses severity=page",
		"HttplimitEvicting": "job=redis severity=page",
	} {
		fires(t, p, name, labels)
	}
	for _, name := range []string{"HttplimitDegraded", "HttplimitUnavailable"} {
		rests(t, p, name)
	}

	store.Kill(t)
	panelsSay(t, p, queries, outage)
	fires(t, p, "HttplimitDegraded", "job=shop namespace=shop rule=account policy=fail-local severity=ticket")
	fires(t, p, "HttplimitDegraded", "job=shop namespace=shop rule=export policy=fail-closed severity=ticket")
	fires(t, p, "HttplimitUnavailable", "job=shop severity=page")

	store.Restart(t)
	rests(t, p, "HttplimitDegraded")
	rests(t, p, "HttplimitUnavailable")
	for _, name := range alerts {
		if !seen[name] {
			t.Errorf("the test did not see %s fire", name)
		}
	}

	stop()
	all.Wait()
	countsAddUp(t, p, "shop", shop)
	countsAddUp(t, p, "small", small)
	tellsOfTheOutage(t, shop.log.String())
}

// tellsOfTheOutage checks the log of a service whose Redis was away: it says so of each rule, not again and again, not
// by the lines of go-redis, and names accounts by their hashes.
func tellsOfTheOutage(t *testing.T, log string) {
	t.Helper()
	for _, rule := range []string{"account", "tighter", "export"} {
		for _, said := range []string{"cannot decide", "decides again"} {
			line := fmt.Sprintf(`"httplimit: the store %s","rule":"%s"`, said, rule)
			if n := strings.Count(log, line); n == 0 || n > 5 {
				t.Errorf("the log says %d times %s, want once an outage", n, line)
			}
		}
	}
	if !strings.Contains(log, `"msg":"httplimit: refused","namespace":"shop","rule":"account"`) {
		t.Error("the log names nobody who was refused")
	}
	for line := range strings.Lines(log) {
		if !strings.HasPrefix(line, "{") || strings.Contains(line, "go-redis") || strings.Contains(line, `"hot"`) {
			t.Errorf("got the line %s", line)
			return
		}
	}
}

// fill writes keys to a Redis until the context ends, more than it holds.
func fill(ctx context.Context, addr string) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	for i := 0; ctx.Err() == nil; i++ {
		client.Set(ctx, fmt.Sprint("key-", i), strings.Repeat("x", 4096), 0)
		time.Sleep(pace)
	}
}

// panelsSay checks what the queries of each panel in wants say: of several queries, together.
func panelsSay(t *testing.T, p *prometheus, queries []asked, wants map[string][]want) {
	t.Helper()
	for _, panel := range slices.Sorted(maps.Keys(wants)) {
		var exprs []string
		for _, q := range queries {
			if q.panel == panel {
				exprs = append(exprs, q.expr)
			}
		}
		if len(exprs) == 0 {
			t.Errorf("the dashboard has no panel %q", panel)
			continue
		}
		for _, expr := range exprs {
			await(t, panel+": "+expr, func() error { return checkAll(p, expr, wants[panel]) })
		}
	}
}

// checkAll returns an error unless a query is answered, and by series that are as wanted.
func checkAll(p *prometheus, expr string, wanted []want) error {
	samples, err := p.query(expr)
	faults := []error{err}
	for _, w := range wanted {
		faults = append(faults, w.check(samples))
	}
	return errors.Join(faults...)
}

// panelsAreKnown reports panels that no test has an expectation of.
func panelsAreKnown(t *testing.T, queries []asked) {
	t.Helper()
	for _, q := range queries {
		if len(healthy[q.panel])+len(outage[q.panel]) == 0 {
			t.Errorf("no test says what panel %q is to show", q.panel)
		}
	}
}

// variablesOffer checks the choices that the dashboard offers.
func variablesOffer(t *testing.T, p *prometheus, wanted map[string][]string) {
	t.Helper()
	asked := labelsAsked(t)
	for label, want := range wanted {
		got, err := p.values(label, asked[label])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the choice of %s: got %v, %v, want %v", label, got, err, want)
		}
	}
}

// seen are the alerts that have fired.
var seen = make(map[string]bool)

// fires waits until an alert fires with these labels, and says what it is to say.
func fires(t *testing.T, p *prometheus, name, labels string) {
	t.Helper()
	await(t, "alert "+name, func() error {
		alerts, err := p.firing(name)
		i := slices.IndexFunc(alerts, func(a alert) bool { return hasLabels(a.Labels, labels) })
		if err != nil || i < 0 {
			return fmt.Errorf("got %v, %w, want it to fire with %s", alerts, err, labels)
		}
		seen[name] = true
		for _, text := range []string{"summary", "description", "runbook_url"} {
			said := alerts[i].Annotations[text]
			if said == "" || strings.Contains(said, "error") || strings.Contains(said, "no value") {
				t.Errorf("%s: the %s is %q", name, text, said)
			}
			t.Logf("%s: %s", name, said)
		}
		return nil
	})
}

// rests waits until an alert does not fire.
func rests(t *testing.T, p *prometheus, name string) {
	t.Helper()
	await(t, "alert "+name, func() error {
		alerts, err := p.firing(name)
		if err == nil && len(alerts) > 0 {
			err = fmt.Errorf("got %v, want none that fires", alerts)
		}
		return err
	})
}

// countsAddUp compares what was counted with what clients were answered. Each request reaches two Middlewares, unless
// the first refuses it.
func countsAddUp(t *testing.T, p *prometheus, job string, s *service) {
	t.Helper()
	if n := s.unanswered.Load(); n > 0 {
		t.Errorf("%s: %d requests were not answered", job, n)
	}
	passed, refused := s.statuses[200].Load(), s.statuses[429].Load()
	unavailable := s.statuses[503].Load()
	t.Logf("%s: %d passed, %d refused, %d unavailable", job, passed, refused, unavailable)
	exact := func(labels string, n int64) want { return want{labels, float64(n), float64(n)} }
	await(t, "requests of "+job, func() error {
		return checkAll(p, `httplimit_requests_total{job="`+job+`"}`,
			[]want{exact("outcome=refused", refused), exact("outcome=unavailable", unavailable)})
	})
	await(t, "decisions of "+job, func() error {
		return checkAll(p, `sum by (rule) (httplimit_decisions_total{job="`+job+`", rule="address"})`,
			[]want{exact("rule=address", passed+refused+unavailable)})
	})
}

// hasLabels reports whether all of labels, such as "job=shop rule=account", are among has.
func hasLabels(has map[string]string, labels string) bool {
	for one := range strings.FieldsSeq(labels) {
		name, value, _ := strings.Cut(one, "=")
		if has[name] != value {
			return false
		}
	}
	return true
}
