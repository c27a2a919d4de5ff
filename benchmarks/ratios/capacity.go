package main

import (
	"fmt"
	"io"
	"math"
)

// ruleSets are the rows of the table in docs/capacity.md, as Rules and Footprint name them.
var ruleSets = []struct{ name, what string }{
	{"one", "one rule"},
	{"two", "two rules: a minute and an hour"},
	{"four", "four rules: a minute to a day"},
	{"shadow", "one rule with `Shadow`"},
	{"one+shadow", "one rule, and one with `Shadow`"},
	{"ban", "one rule with a `Ban`"},
	{"count-status", "one rule with `CountStatus`, all given back"},
	{"fixed-window", "one rule, `FixedWindow`"},
	{"strict-window", "one rule, `StrictWindow`"},
	{"token-bucket", "one rule, `TokenBucket`"},
	{"sliding-log", "one rule, `SlidingLog`"},
}

// writeCapacity prints what one core of a Redis server decides for each set of rules, and how that depends on callers.
func writeCapacity(out io.Writer, f figures, best bool) {
	fmt.Fprint(out, "\n| rules of one client | server CPU, 1 caller | with 64 callers "+
		"| decisions a second of one Redis core | bytes of a client |\n|---|---|---|---|---|\n")
	m := medians{f, best}
	for _, set := range ruleSets {
		load := func(callers int) float64 {
			load := fmt.Sprintf("server=redis callers=%d offered=max answer=allowed rules=%s threads=2", callers, set.name)
			return m.of("Rules", load, own, "server-ns/op")
		}
		bytes := m.of("Footprint", "server=redis rules="+set.name+" threads=2", own, "server-B/client")
		fmt.Fprintf(out, "| %s | %s | %s | %s to %s | %s |\n", set.what, micros(load(1)), micros(load(64)),
			thousands(1e9/load(1)), thousands(1e9/load(64)), whole(bytes))
	}
	writeLoads(out, m)
}

// writeLoads prints how the cost of one rule depends on how callers come.
func writeLoads(out io.Writer, m medians) {
	fmt.Fprint(out, "\n| one process | server CPU of a decision | of that of one caller |\n|---|---|---|\n")
	cpu := func(load string) float64 {
		return m.of("Remote", "server=redis "+load+" answer=allowed threads=2", own, "server-ns/op")
	}
	alone := cpu("callers=1 offered=max")
	for _, row := range []struct{ what, load string }{
		{"one caller, again and again", "callers=1 offered=max"},
		{"20,000 a second at random moments", "callers=64 offered=20000"},
		{"50,000 a second at random moments", "callers=64 offered=50000"},
		{"64 callers, again and again", "callers=64 offered=max"},
		{"256 callers, again and again", "callers=256 offered=max"},
	} {
		share := cpu(row.load) / alone
		if math.IsNaN(share) {
			continue
		}
		fmt.Fprintf(out, "| %s | %s | %.2f |\n", row.what, micros(cpu(row.load)), share)
	}
}

func micros(nanoseconds float64) string {
	if math.IsNaN(nanoseconds) {
		return ""
	}
	return fmt.Sprintf("%.1f µs", nanoseconds/1e3)
}

// thousands has two digits that matter: the next run has others behind them.
func thousands(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	digits := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.0f,000", math.Round(v/digits)*digits/1e3)
}

func whole(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("%.0f", v)
}
