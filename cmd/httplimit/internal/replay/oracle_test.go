package replay_test

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/replay"
	"github.com/httplimit/httplimit/limiter"
)

// oracle decides by definition: it remembers every admitted request of a client for ever, and counts those that a limit
// is about. It shares no code with the limiter.
type oracle struct {
	rules    []oracleRule
	admitted map[string][]int64
}

type oracleRule struct {
	name          string
	limit, window int64 // milliseconds
	fixed         bool  // windows of the clock; else the last window before the request
}

// decide says which rules refuse the request. If none does, it is admitted, and counts for all of them.
func (o *oracle) decide(client string, at int64) map[string]bool {
	refused, any := map[string]bool{}, false
	for _, r := range o.rules {
		var n int64
		for _, before := range o.admitted[client] {
			if r.fixed && before-before%r.window == at-at%r.window || !r.fixed && at-before < r.window {
				n++
			}
		}
		refused[r.name] = n >= r.limit
		any = any || refused[r.name]
	}
	if !any {
		o.admitted[client] = append(o.admitted[client], at)
	}
	return refused
}

// logged is one request of a made up log.
type logged struct {
	client    string
	at        int64
	log, line int // where it stands
}

// madeUp is two logs of some clients who ask in bursts, partly out of order, with many equal times.
func madeUp(seed uint64, n int, step int64) (texts []string, requests []logged) {
	random := rand.New(rand.NewPCG(seed, 1))
	builders := make([]strings.Builder, 2)
	at, counts := monday, []int{0, 0}
	for range n {
		if random.IntN(3) > 0 {
			at += random.Int64N(2*step+1) / step * step
		}
		late := int64(0)
		if random.IntN(20) == 0 {
			late = random.Int64N(60_000) / step * step
		}
		r := logged{client: fmt.Sprintf("192.0.2.%d", random.IntN(6)), at: max(monday, at-late), log: random.IntN(2)}
		r.line = counts[r.log]
		counts[r.log]++
		requests = append(requests, r)
		if step == 1000 {
			builders[r.log].WriteString(combinedLine(r.client, r.at, "GET / HTTP/1.1", 200, "browser"))
		} else {
			builders[r.log].WriteString(jsonLine(r.client, r.at))
		}
	}
	// Equal times are decided in the order of the logs, then of their lines.
	sort.Slice(requests, func(i, j int) bool {
		a, b := requests[i], requests[j]
		if a.at != b.at {
			return a.at < b.at
		}
		if a.log != b.log {
			return a.log < b.log
		}
		return a.line < b.line
	})
	return []string{builders[0].String(), builders[1].String()}, requests
}

func TestRefusalsAreTheOracles(t *testing.T) {
	policies := map[string][]oracleRule{
		"a log":         {{name: "log", limit: 5, window: 10_000}},
		"a log of one":  {{name: "log", limit: 1, window: 1000}},
		"a window":      {{name: "fixed", limit: 5, window: 10_000, fixed: true}},
		"an odd window": {{name: "fixed", limit: 3, window: 7000, fixed: true}},
		"both and a long": {{name: "log", limit: 4, window: 5000}, {name: "fixed", limit: 6, window: 15_000, fixed: true},
			{name: "long", limit: 60, window: 3_600_000}},
	}
	for name, rules := range policies {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				step := int64(1000)
				if seed%2 == 1 {
					step = 7
				}
				texts, requests := madeUp(seed, 1000, step)
				got, data := run(t, oraclePolicy(rules), replay.Options{}, "", texts...)
				if len(got) != len(requests) {
					t.Fatalf("seed %d: %d requests were decided, want %d: %v", seed, len(got), len(requests), data.Input.Warnings)
				}
				compareWithOracle(t, seed, rules, requests, got)
			}
		})
	}
}

func oraclePolicy(rules []oracleRule) replay.Policy {
	var p replay.Policy
	for _, r := range rules {
		rule := byAddress(r.name, "1/s")
		rule.Limit = limiter.Limit{Requests: r.limit, Window: time.Duration(r.window) * time.Millisecond,
			Algorithm: limiter.SlidingLog}
		if r.fixed {
			rule.Limit.Algorithm = limiter.FixedWindow
		}
		one := policyOf(rule)
		p.Config.Rules, p.Rules = append(p.Config.Rules, one.Config.Rules...), append(p.Rules, one.Rules...)
	}
	return p
}

func compareWithOracle(t *testing.T, seed uint64, rules []oracleRule, requests []logged, got []said) {
	t.Helper()
	o := oracle{rules: rules, admitted: map[string][]int64{}}
	refusals := 0
	for i, r := range requests {
		if got[i].client != r.client || got[i].at != r.at {
			t.Fatalf("seed %d, request %d is of %s at %d, want %s at %d", seed, i, got[i].client, got[i].at, r.client, r.at)
		}
		want := o.decide(r.client, r.at)
		for name, refused := range want {
			if got[i].refused[name] != refused {
				t.Fatalf("seed %d, request %d of %s at %d: rule %s refused = %v, want %v", seed, i, r.client, r.at, name,
					!refused, refused)
			}
			if refused {
				refusals++
			}
		}
	}
	if refusals == 0 || refusals == len(requests)*len(rules) {
		t.Errorf("seed %d tests nothing: %d refusals of %d", seed, refusals, len(requests))
	}
}
