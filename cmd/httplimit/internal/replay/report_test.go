package replay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

// refusedBy returns how many requests and clients were refused by a rule.
func refusedBy(all []said, rule string) (requests, clients int64) {
	of := map[string]bool{}
	for _, s := range all {
		if s.refused[rule] {
			requests++
			of[s.client] = true
		}
	}
	return requests, int64(len(of))
}

// What the curve says of a limit, and what the comparison says of an algorithm, is what a policy of that limit alone
// has done to the same log.
func TestCurveAndAlgorithmsAreReplays(t *testing.T) {
	for _, limit := range []string{"5/10s", "7/3s fixed-window", "4/5s token-bucket burst=9", "3/2s strict-window",
		"1/s", "60/h sliding-log"} {
		t.Run(limit, func(t *testing.T) {
			for _, seed := range []uint64{uint64(len(limit) % 2)} { // whole seconds, or milliseconds
				texts, _ := madeUp(seed, 300, []int64{1000, 7}[seed%2])
				own := byAddress("rule", limit)
				_, data := run(t, policyOf(own), replay.Options{Windows: []time.Duration{time.Second, time.Minute}}, "", texts...)
				rule := data.Rules[0]
				for i, outcome := range rule.Algorithms {
					l := limiter.Limit{Requests: own.Limit.Requests, Window: own.Limit.Window, Algorithm: outcome.Algorithm}
					if l.Algorithm == own.Limit.Algorithm {
						l = own.Limit
					}
					alone, _ := run(t, policyOf(byAddress("rule", l.String())), replay.Options{}, "", texts...)
					checkOutcome(t, rule.Algorithms[i], alone, l.Window.Milliseconds())
				}
				for _, w := range rule.Windows {
					for _, point := range w.Curve {
						l := limiter.Limit{Requests: point.Requests, Window: w.Length}
						if own.Limit.Algorithm == limiter.FixedWindow {
							l.Algorithm = limiter.FixedWindow
						}
						alone, _ := run(t, policyOf(byAddress("rule", l.String())), replay.Options{}, "", texts...)
						requests, clients := refusedBy(alone, "rule")
						got := sum(point.People, point.Bots)
						if got.Refused != requests || got.ClientsRefused != clients || got.Requests != rule.Total.Requests {
							t.Errorf("seed %d: the curve says %+v of %v, want %d refused of %d clients", seed, got, l, requests, clients)
						}
					}
				}
			}
		})
	}
}

func sum(a, b report.Counts) report.Counts {
	return report.Counts{Requests: a.Requests + b.Requests, Refused: a.Refused + b.Refused, Clients: a.Clients + b.Clients,
		ClientsRefused: a.ClientsRefused + b.ClientsRefused}
}

// checkOutcome holds a comparison's outcome against a replay of that algorithm alone.
func checkOutcome(t *testing.T, got report.Outcome, alone []said, window int64) {
	t.Helper()
	requests, clients := refusedBy(alone, "rule")
	var waits []time.Duration
	admitted := map[string][]int64{}
	var most int64
	for _, s := range alone {
		if s.refused["rule"] {
			waits = append(waits, time.Duration((s.waits["rule"].Milliseconds()+999)/1000)*time.Second)
			continue
		}
		admitted[s.client] = append(admitted[s.client], s.at)
		var n int64
		for _, at := range admitted[s.client] {
			if at > s.at-window {
				n++
			}
		}
		most = max(most, n)
	}
	want := report.Outcome{Algorithm: got.Algorithm, Refused: requests, ClientsRefused: clients, MostAdmitted: most}
	if slices.Sort(waits); len(waits) > 0 {
		rank := func(permille int) time.Duration { return waits[(len(waits)*permille+999)/1000-1] }
		want.Wait50, want.Wait90, want.Wait99, want.WaitMax = rank(500), rank(900), rank(990), rank(1000)
	}
	if got != want {
		t.Errorf("%v: the comparison says\n%+v, want\n%+v", got.Algorithm, got, want)
	}
}

func TestReport(t *testing.T) {
	var log strings.Builder
	visits := []int64{3, 9, 61, 70, 200, 201, 330, 400, 405, 520, 590, 599}
	for i := range int64(600) { // one client asks every second, as programs do; the limit lets 10 a minute pass
		log.WriteString(combinedLine("198.51.100.1", monday+i*1000, "GET /feed?user=7 HTTP/1.1", 200, "curl/8.5.0"))
		if slices.Contains(visits, i) { // others now and then
			for c := range int64(30) {
				log.WriteString(combinedLine(fmt.Sprintf("203.0.113.%d", c), monday+i*1000, "GET /page HTTP/1.1", 200,
					"Mozilla/5.0"))
			}
		}
	}
	rule := byAddress("address", "10/m fixed-window")
	_, data := run(t, policyOf(rule), replay.Options{Windows: []time.Duration{time.Hour}}, "", log.String())

	in := data.Input
	if in.Lines != 960 || in.Parsed != 960 || in.Bad != 0 || in.Clients != 31 || in.People != 30 || in.Format != "" {
		t.Errorf("the input is %+v, want 960 lines of 31 clients, 30 of them people", in)
	}
	if want := []report.Sign{{Why: "declares itself", Clients: 1, Requests: 600}}; !slices.Equal(in.Bots, want) {
		t.Errorf("the bots are %+v, want %+v", in.Bots, want)
	}
	got := data.Rules[0]
	if want := (report.Counts{Requests: 600, Refused: 500, Clients: 1, ClientsRefused: 1}); got.Bots != want {
		t.Errorf("the bots' counts are %+v, want %+v", got.Bots, want)
	}
	if want := (report.Counts{Requests: 360, Clients: 30}); got.People != want {
		t.Errorf("the people's counts are %+v, want %+v", got.People, want)
	}
	if data.Refused != 500 || data.ClientsRefused != 1 {
		t.Errorf("refused are %d requests of %d clients, want 500 of 1", data.Refused, data.ClientsRefused)
	}
	if n := len(got.Timeline.Refused); n != 10 || got.Timeline.Step != time.Minute || got.Timeline.Refused[3] != 50 {
		t.Errorf("the timeline is %+v, want 10 minutes with 50 refusals each", got.Timeline)
	}
	if want := []report.Peak{{Units: 2, Clients: 30}}; !slices.Equal(got.Windows[0].People, want) {
		t.Errorf("the people's peaks are %+v, want %+v", got.Windows[0].People, want)
	}
	if want := []report.Peak{{Units: 60, Clients: 1}}; !slices.Equal(got.Windows[0].Bots, want) {
		t.Errorf("the bots' peaks are %+v, want %+v", got.Windows[0].Bots, want)
	}
	if len(got.MostRefused) != 1 {
		t.Fatalf("the most refused are %+v, want one", got.MostRefused)
	}
	c := got.MostRefused[0]
	if c.Key != "198.51.100.1" || c.Refused != 500 || c.Agent != "curl/8.5.0" ||
		!slices.Equal(c.Paths, []string{"/feed"}) ||
		c.First.UnixMilli() != monday+10_000 || c.Last.UnixMilli() != monday+599_000 || c.Why != "declares itself" {
		t.Errorf("the most refused is %+v", c)
	}
	var passed, refused int64
	for i := range got.Heat.Rows[0].Passed {
		passed, refused = passed+got.Heat.Rows[0].Passed[i], refused+got.Heat.Rows[0].Refused[i]
	}
	if len(got.Heat.Rows) != 31 || len(got.Heat.Rows[0].Passed) > 120 || passed != 100 || refused != 500 {
		t.Errorf("the heat map has %d rows, the first of %d steps with %d passed and %d refused", len(got.Heat.Rows),
			len(got.Heat.Rows[0].Passed), passed, refused)
	}
}

// A log of years has a bounded number of steps, and loses no request.
func TestLongLogs(t *testing.T) {
	var log strings.Builder
	for day := range int64(3000) {
		log.WriteString(jsonLine("192.0.2.1", monday+day*86_400_000))
		log.WriteString(jsonLine("192.0.2.2", monday+day*86_400_000))
	}
	_, data := run(t, policyOf(byAddress("rule", "1/s")), replay.Options{}, "", log.String())
	rule := data.Rules[0]
	var all int64
	for _, n := range rule.Timeline.Passed {
		all += n
	}
	if n := len(rule.Timeline.Passed); n > 7*24*60 || all != 6000 {
		t.Errorf("the timeline has %d steps of %v with %d requests, want at most 10080 with 6000", n, rule.Timeline.Step, all)
	}
	for _, row := range rule.Heat.Rows {
		all = 0
		for _, n := range row.Passed {
			all += n
		}
		if len(row.Passed) > 120 || all != 3000 {
			t.Errorf("a row of the heat map has %d steps with %d requests, want at most 120 with 3000", len(row.Passed), all)
		}
	}
}
