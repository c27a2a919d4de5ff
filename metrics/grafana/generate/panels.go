package main

// row is a headline and what stands below it, from left to right.
type row struct {
	title  string
	panels []shown
}

// shown is one panel: what it asks, and what whoever is on call should make of the answer.
type shown struct {
	kind        kind
	title, unit string
	width       int // of 24 columns
	queries     []query
	warn, alarm float64 // from which on it is yellow and red; 0: never
	most        float64 // the end of the scale; 0: as the values are
	none        string  // shown where there is no series; "": 0
	description string
}

// kind is how a panel shows its numbers.
type kind int

const (
	number   kind = iota // the latest one, large
	lines                // over time
	stacked              // over time, on top of each other
	states               // over time, one bar a series: green at 0, else red
	bars                 // the latest ones, the largest first
	listing              // a table of the latest ones, by the labels
	numberAt = 4         // height of a number
	pictured = 8         // height of all else
)

// query is one query, and the name of its series.
type query struct{ expr, legend string }

const (
	ruleLegend   = "{{namespace}} {{rule}}"
	serverLegend = "{{store}} {{server}}"
	memoryLegend = "{{store}} of {{instance}}"
)

// rows is the dashboard. The first row answers "is it us?", the others say what it is.
var rows = []row{
	{"Now", []shown{
		{kind: number, title: "Requests", unit: "reqps", width: 4,
			queries: []query{{`sum(rate(httplimit_requests_total{job=~"$job"}[$__rate_interval]))`, ""}},
			description: "Requests that reached a Middleware, of all instances. One that passes two Middlewares counts " +
				"twice. If it falls to 0 while the service is up, look whether Prometheus still scrapes it."},
		{kind: number, title: "Share refused", unit: "percentunit", width: 4, warn: 0.05, alarm: 0.2,
			queries: []query{{`sum(rate(httplimit_requests_total{job=~"$job", outcome="refused"}[$__rate_interval])) / ` +
				`sum(rate(httplimit_requests_total{job=~"$job"}[$__rate_interval]))`, ""}},
			description: "Requests answered 429. See below which rule it is. One client that goes on asking makes this " +
				"high, and all is well: look who it is, on the console or in the log, before you raise a limit."},
		{kind: number, title: "Answered 503", unit: "reqps", width: 4, alarm: 0.001,
			queries: []query{{`sum(rate(httplimit_requests_total{job=~"$job", outcome="unavailable"}[$__rate_interval]))`,
				""}},
			description: "Requests refused because the store could not decide and a rule has FailClosed: an outage for " +
				"your clients. Bring the store back; until then FailLocal instead of FailClosed lets them in by shares."},
		{kind: number, title: "Degraded rules", unit: "short", width: 4, alarm: 1,
			queries: []query{{`sum(max by (job, namespace, rule) (httplimit_rule_degraded{job=~"$job", rule=~"$rule"}))`,
				""}},
			description: "Rules that a store could not decide lately, in any process. Their failure policy holds " +
				"meanwhile. The log line \"the store cannot decide\" has the cause."},
		{kind: number, title: "Servers given up on", unit: "short", width: 4, alarm: 1, none: "no servers",
			queries: []query{{`sum(max by (job, store, server) (httplimit_store_breaker_open{job=~"$job"}))`, ""}},
			description: "Servers of stores that some process only probes, because its calls failed. They come back by " +
				"themselves within a second of the server."},
		{kind: number, title: "Fullest memory", unit: "percentunit", width: 4, warn: 0.7, alarm: 0.9, most: 1,
			none: "no memory store",
			queries: []query{{`max(httplimit_store_entries{job=~"$job"} / httplimit_store_capacity{job=~"$job"})`,
				""}},
			description: "How full the fullest store in memory is. From nine tenths on it forgets counters that are below " +
				"their limits, the least used ones first: raise MaxKeys before it is full."},
	}},
	{"Refusals", []shown{
		{kind: stacked, title: "Refusals by rule", unit: "reqps", width: 12,
			queries: []query{{`sum by (namespace, rule, result) (rate(httplimit_decisions_total{job=~"$job", rule=~"$rule", ` +
				`result=~"refused|banned|closed"}[$__rate_interval]))`, ruleLegend + " {{result}}"}},
			description: "Decisions that refused: refused by the limit, banned by a Ban, closed because the store could not " +
				"decide and the rule has FailClosed. A request that two rules refuse is in both."},
		{kind: lines, title: "Share refused, by rule", unit: "percentunit", width: 12, alarm: 0.2, most: 1,
			queries: []query{{`sum by (namespace, rule) (rate(httplimit_decisions_total{job=~"$job", rule=~"$rule", ` +
				`result=~"refused|banned"}[$__rate_interval])) / sum by (namespace, rule) (rate(httplimit_decisions_total{` +
				`job=~"$job", rule=~"$rule", result!="unjudged"}[$__rate_interval]))`, ruleLegend}},
			description: "Of what the rule judged. The line is where the alert HttplimitRefusals begins. If it rose with a " +
				"release, a client of yours calls more often or the key changed; if it rose without one, it is an attack or " +
				"one broken client."},
		{kind: stacked, title: "Refusals by who decided", unit: "reqps", width: 8,
			queries: []query{{`sum by (source) (rate(httplimit_decisions_total{job=~"$job", rule=~"$rule", ` +
				`result=~"refused|banned|closed"}[$__rate_interval]))`, "{{source}}"}},
			description: "store: the store counted. cache: refused from memory, which costs no call; under a flood nearly " +
				"all should be. local: this process's share, because the store could not decide. none: nobody did."},
		{kind: lines, title: "Near the limit", unit: "reqps", width: 8,
			queries: []query{{`sum by (namespace, rule) (rate(httplimit_near_limit_total{job=~"$job", rule=~"$rule"}` +
				`[$__rate_interval]))`, ruleLegend}},
			description: "Allowed, with under a fifth of the limit left. It rises before refusals do: time to talk to the " +
				"client, or to choose another limit."},
		{kind: lines, title: "What shadow rules would refuse", unit: "reqps", width: 8,
			queries: []query{{`sum by (namespace, rule) (rate(httplimit_decisions_total{job=~"$job", rule=~"$rule", ` +
				`result="shadow_refused"}[$__rate_interval]))`, ruleLegend}},
			description: "Of rules with Shadow, and of those with Percent for the clients that they are not in force for. " +
				"Enforce a rule when you would have wanted these refused."},
	}},
	{"When the store cannot decide", []shown{
		{kind: states, title: "Processes that cannot decide", unit: "short", width: 12,
			queries: []query{{`sum by (namespace, rule, policy) (httplimit_rule_degraded{job=~"$job", rule=~"$rule"})`,
				ruleLegend + " {{policy}}"}},
			description: "In how many processes the store could not decide the rule lately. In one of many: look at that " +
				"process and its network. In all: look at the store."},
		{kind: stacked, title: "Decided without the store", unit: "reqps", width: 12,
			queries: []query{{`sum by (namespace, rule, result, source) (rate(httplimit_decisions_total{job=~"$job", ` +
				`rule=~"$rule", source="local"}[$__rate_interval]) or rate(httplimit_decisions_total{job=~"$job", ` +
				`rule=~"$rule", result=~"open|closed"}[$__rate_interval]))`, ruleLegend + " {{result}} by {{source}}"}},
			description: "By failure policy: local is a share of this process, open let the request in uncounted, closed " +
				"answered 503. Nothing of it is charged to the store later."},
	}},
	{"Servers of stores", []shown{
		{kind: lines, title: "Latency", unit: "s", width: 12, alarm: 0.05,
			queries: []query{
				{`histogram_quantile(0.5, sum by (le) (rate(httplimit_store_duration_seconds_bucket{job=~"$job", ` +
					`outcome="ok"}[$__rate_interval])))`, "p50"},
				{`histogram_quantile(0.99, sum by (le) (rate(httplimit_store_duration_seconds_bucket{job=~"$job", ` +
					`outcome="ok"}[$__rate_interval])))`, "p99"},
			},
			description: "What requests waited for decisions of remote stores. The line is the Timeout that stores have by " +
				"default: what takes longer is no decision. A p99 above half of it means that decisions begin to fail."},
		{kind: lines, title: "Failed calls", unit: "reqps", width: 12,
			queries: []query{
				{`sum by (store, server) (rate(httplimit_store_calls_total{job=~"$job", outcome="error"}[$__rate_interval]))`,
					serverLegend},
				{`sum(rate(httplimit_store_duration_seconds_count{job=~"$job", outcome="error"}[$__rate_interval]))`,
					"requests without a decision"},
			},
			description: "Calls that ended without an answer that decides, by server, and the requests that had no decision " +
				"therefore. During an outage the first fall and the second stay: then only probes are sent."},
		{kind: states, title: "Processes that gave up on a server", unit: "short", width: 8,
			queries: []query{{`sum by (store, server) (httplimit_store_breaker_open{job=~"$job"})`, serverLegend}},
			description: "How many processes only probe the server. One of a cluster's masters: the clients whose keys lie " +
				"there are for the failure policies, and all others are not."},
		{kind: lines, title: "Callers waiting", unit: "short", width: 8,
			queries: []query{{`sum by (store, server) (httplimit_store_waiting{job=~"$job"})`, serverLegend}},
			description: "Callers that wait for an answer at the moment of the scrape. If it grows while the latency does, " +
				"the server is at its end: look at its processor."},
		{kind: lines, title: "Callers in one call", unit: "short", width: 8,
			queries: []query{{`sum by (store, server) (rate(httplimit_store_flight_size_sum{job=~"$job"}[$__rate_interval])) ` +
				`/ sum by (store, server) (rate(httplimit_store_flight_size_count{job=~"$job"}[$__rate_interval]))`,
				serverLegend}},
			description: "How many callers share a call to the server, on average. It grows with the load; that is what " +
				"keeps the number of calls down."},
	}},
	{"Memory", []shown{
		{kind: lines, title: "Fill", unit: "percentunit", width: 12, warn: 0.7, alarm: 0.9, most: 1,
			none: "no memory store",
			queries: []query{{`max by (store, instance) (httplimit_store_entries{job=~"$job"} / ` +
				`httplimit_store_capacity{job=~"$job"})`, memoryLegend}},
			description: "Counters kept, of MaxKeys. It rises with the number of clients within two windows. What has " +
				"expired is swept away by later requests."},
		{kind: lines, title: "Forgotten, and decided from shared cells", unit: "cps", width: 12,
			queries: []query{
				{`sum by (store, instance) (rate(httplimit_store_evicted_total{job=~"$job"}[$__rate_interval]))`,
					"forgotten by " + memoryLegend},
				{`sum by (store, instance) (rate(httplimit_store_overflowed_total{job=~"$job"}[$__rate_interval]))`,
					"overflowed in " + memoryLegend},
			},
			description: "Forgotten: counters below their limits gave way to newcomers, which may spend a little more " +
				"therefore. Overflowed: more clients are at their limits than MaxKeys, so newcomers share cells and may be " +
				"refused too early: raise MaxKeys, or stop the flood in front."},
	}},
	{"Limits and what they cost", []shown{
		{kind: bars, title: "Rules that most is spent of", unit: "cps", width: 12,
			queries: []query{{`topk(10, clamp_min(sum by (namespace, rule) (rate(httplimit_cost_total{job=~"$job", ` +
				`rule=~"$rule", result="allowed"}[$__rate_interval])) - sum by (namespace, rule) (rate(` +
				`httplimit_refunded_total{job=~"$job", rule=~"$rule", result="allowed"}[$__rate_interval])), 0))`, ruleLegend}},
			description: "Units a second, without those given back by CountStatus, Spend and InFlight. A rule without Cost " +
				"spends one unit a request."},
		{kind: listing, title: "Limits in force", unit: "short", width: 12,
			queries: []query{{`max by (namespace, rule, limit) (httplimit_rule_limit{job=~"$job", rule=~"$rule"})`, ""}},
			description: "Of watched Middlewares, with the Plans of a rule. Two lines for a rule without Plans: not all " +
				"processes have the same configuration yet."},
	}},
}
