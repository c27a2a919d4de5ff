package main

import (
	"strings"
	"testing"
)

func TestGoals(t *testing.T) {
	const lines = `
BenchmarkRules/server=redis/callers=1/offered=max/answer=allowed/rules=one/limiter=httplimit-2 	100	20000 server-ns/op
BenchmarkRules/server=redis/callers=1/offered=max/answer=allowed/rules=two/limiter=httplimit-2 	100	28000 server-ns/op
BenchmarkRules/server=redis/callers=1/offered=max/answer=allowed/rules=ban/limiter=httplimit-2 	100	40000 server-ns/op
BenchmarkRemote/server=redis/callers=64/offered=max/answer=allowed/limiter=httplimit-2 	100	250 decisions/s
BenchmarkRemote/server=redis/callers=64/offered=max/answer=allowed/limiter=rueidislimiter-2 	100	80 decisions/s
BenchmarkRemote/server=redis/callers=64/offered=max/answer=allowed/limiter=rueidislimiter-tuned-2 	100	125 decisions/s
BenchmarkFlood/limiter=httplimit-2 	1	30 worst-ns
BenchmarkFlood/limiter=slow-2 	1	60 worst-ns
BenchmarkFlood/limiter=good-2 	1	10 worst-ns
BenchmarkExpired/limiter=httplimit-2 	1	50 left-MB
BenchmarkWeb/framework=net-http/key=address/answer=allowed/limiter=none 	1	10 ns/op
BenchmarkWeb/framework=net-http/key=address/answer=allowed/limiter=httplimit 	1	110 ns/op
BenchmarkWeb/framework=net-http/key=address/answer=allowed/limiter=go-limiter 	1	310 ns/op
`
	got := printed(t, lines, view{goals: true})
	for _, want := range []string{
		"| Redis, two windows of one client: server CPU of one rule, 1 caller | 1.40x | at most 1.5x | met |",
		"| Redis, a rule with a Ban: server CPU of one rule, 1 caller | 2.00x | at most 1.5x | missed |",
		"| Redis, a rule with a Ban: server CPU of one rule, 64 callers | not measured | at most 1.5x |  |",
		"| Redis, 64 callers: decisions/s of rueidislimiter at its best | 2.00x | at least 2.5x | missed |",
		"| flood of new keys: longest operation, of the best rival's | 3.00x |  |  |",
		"| heap a minute after a flood of 2,000,000 has expired, 10 clients left | 50.00 MB | at most 10 MB | missed |",
		"| middleware over net/http, allowed: less time than go-limiter | 3.00x | at least 2.8x | met |",
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("the row is missing: %s\ngot %s", want, got)
		}
	}
}

func TestCapacity(t *testing.T) {
	const lines = `
BenchmarkRules/server=redis/callers=1/offered=max/answer=allowed/rules=two/limiter=httplimit-2 	100	40000 server-ns/op
BenchmarkRules/server=redis/callers=64/offered=max/answer=allowed/rules=two/limiter=httplimit-2 	100	3210 server-ns/op
BenchmarkFootprint/server=redis/rules=two/limiter=httplimit-2 	100	260.4 server-B/client
`
	got := printed(t, lines, view{capacity: true})
	const want = "| two rules: a minute and an hour | 40.0 µs | 3.2 µs | 25,000 to 310,000 | 260 |\n"
	if !strings.Contains(got, want) {
		t.Errorf("the row is missing: %s\ngot %s", want, got)
	}
}
