package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table is one unit of one benchmark.
type table struct {
	benchmark, unit, title string
	// above is a limiter whose figure is taken off all others.
	above string
	// more: a larger figure is better.
	more bool
	// less is a limiter that does less than the others and is no rival.
	less string
	// plain is for what has no ratio: counts, and bytes that depend on what clients do next.
	plain bool
	best  bool // of all rounds, instead of their median
}

var tables = []table{
	{benchmark: "Memory", unit: "ns/op", title: "Memory: ns a decision"},
	{benchmark: "Memory", unit: "cpu-ns/op", title: "Memory: ns of CPU a decision, both threads together"},
	{benchmark: "Memory", unit: "allocs/op", title: "Memory: allocations a decision", plain: true},
	{benchmark: "Flood", unit: "ns/op", title: "Flood: ns for each new key"},
	{benchmark: "Flood", unit: "allocs/key", title: "Flood: allocations for each new key", plain: true},
	{benchmark: "Flood", unit: "worst-ns", title: "Flood: ns of the longest operation"},
	{benchmark: "Flood", unit: "heap-B/key", title: "Flood: bytes of the heap for each of a million keys"},
	{benchmark: "Expired", unit: "full-MB", title: "Expired: MB of the heap after a flood of 2,000,000 keys", plain: true},
	{
		benchmark: "Expired",
		unit:      "left-MB",
		title:     "Expired: MB of the heap when all are over and 10 clients have asked for a minute",
		plain:     true,
	},
	{
		benchmark: "Web",
		unit:      "ns/op",
		title:     "Middleware: ns more than the bare handler (x-time-map tells clients nothing)",
		above:     "none",
		less:      "x-time-map",
	},
	{
		benchmark: "Web",
		unit:      "cpu-ns/op",
		title:     "Middleware: ns of CPU more than the bare handler, both threads together",
		above:     "none",
		less:      "x-time-map",
	},
	{benchmark: "Web", unit: "allocs/op", title: "Middleware: allocations more than the bare handler", above: "none",
		less: "x-time-map", plain: true},
	{benchmark: "Remote", unit: "decisions/s", title: "Servers: decisions a second", more: true},
	{benchmark: "Remote", unit: "cpu-ns/op", title: "Servers: ns of CPU a decision, server and client"},
	{benchmark: "Remote", unit: "server-ns/op", title: "Servers: ns of CPU a decision, server"},
	{benchmark: "Remote", unit: "p50-ns", title: "Servers: median time of a decision in ns"},
	{benchmark: "Remote", unit: "p99-ns", title: "Servers: 99th percentile of the time of a decision in ns"},
	{benchmark: "Remote", unit: "commands/op", title: "Redis: commands a decision, those in scripts too", plain: true},
	{benchmark: "Rules", unit: "decisions/s", title: "Redis, rules of one client: requests a second", more: true},
	{benchmark: "Rules", unit: "cpu-ns/op", title: "Redis, rules of one client: ns of CPU a request, server and client"},
	{benchmark: "Rules", unit: "server-ns/op", title: "Redis, rules of one client: ns of CPU a request, server"},
	{benchmark: "Rules", unit: "p99-ns", title: "Redis, rules of one client: 99th percentile of a request's time in ns"},
	{benchmark: "Rules", unit: "commands/op", title: "Redis, rules of one client: commands a request", plain: true},
	{
		benchmark: "Footprint",
		unit:      "server-B/client",
		title:     "Redis: bytes of a client that came in two windows",
		plain:     true,
	},
	{benchmark: "Footprint", unit: "keys-without-expiry", title: "Redis: keys that never expire", plain: true},
	{benchmark: "GrowthKeys", unit: "ns/op", title: "Growth: ns a decision over so many keys"},
	{benchmark: "GrowthKeys", unit: "heap-B/key", title: "Growth: bytes of the heap for each of so many keys"},
	{benchmark: "GrowthThreads", unit: "ns/op", title: "Growth: ns a decision from so many goroutines, each on a thread"},
	{benchmark: "GrowthRules", unit: "ns/op", title: "Growth: ns a request with so many rules"},
	{benchmark: "GrowthLog", unit: "ns/op", title: "Growth: ns a decision by an exact log of such a limit"},
}

// own is the limiter that the others are compared with.
const own = "httplimit"

// floors are no limiters that anybody has: they show the cost of measuring, and of the server, its client and the
// machine.
var floors = []string{"none", "evalsha", "incr+time", "grouped-incr+time"}

// rival reports whether a limiter does the same as ours: not our own in other settings, and not a floor.
func (t table) rival(limiter string) bool {
	return !strings.HasPrefix(limiter, own) && !slices.Contains(floors, limiter) && limiter != t.less
}

type entry struct {
	limiter string
	value   float64
}

func (t table) write(out io.Writer, f figures) {
	loads := t.loads(f)
	if len(loads) == 0 {
		return
	}
	fmt.Fprintf(out, "\n### %s (%s)\n\n| load | %s |", t.title, t.rounds(f), own)
	switch {
	case strings.HasPrefix(t.benchmark, "Growth"): // which has no rivals in it
		fmt.Fprint(out, "\n|---|---|\n")
	case t.plain:
		fmt.Fprint(out, " best rival | others |\n|---|---|---|---|\n")
	default:
		fmt.Fprint(out, " best rival | ratio | others |\n|---|---|---|---|---|\n")
	}
	for _, load := range loads {
		t.writeRow(out, load, t.entries(f, load))
	}
}

// loads are in the order of their names, and of the numbers in them.
func (t table) loads(f figures) []string {
	seen := make(map[string]bool)
	for name := range f {
		if name.benchmark == t.benchmark && name.unit == t.unit {
			seen[name.load] = true
		}
	}
	var loads []string
	for load := range seen {
		loads = append(loads, load)
	}
	slices.SortFunc(loads, compareLoads)
	return loads
}

func compareLoads(a, b string) int {
	return slices.CompareFunc(strings.Fields(a), strings.Fields(b), func(a, b string) int {
		_, x, _ := strings.Cut(a, "=")
		_, y, _ := strings.Cut(b, "=")
		m, errX := strconv.Atoi(x)
		n, errY := strconv.Atoi(y)
		if errX == nil && errY == nil {
			return cmp.Compare(m, n)
		}
		return cmp.Compare(a, b)
	})
}

// entries are the limiters from the best to the worst.
func (t table) entries(f figures, load string) []entry {
	var base float64
	if t.above != "" {
		base = t.figure(f, figure{t.benchmark, load, t.above, t.unit})
	}
	var list []entry
	for name := range f {
		if name.benchmark != t.benchmark || name.load != load || name.unit != t.unit || name.limiter == t.above {
			continue
		}
		list = append(list, entry{name.limiter, t.figure(f, name) - base})
	}
	slices.SortFunc(list, func(a, b entry) int {
		order := cmp.Compare(a.value, b.value)
		if t.more {
			order = -order
		}
		return cmp.Or(order, cmp.Compare(a.limiter, b.limiter))
	})
	return list
}

// figure is the one that stands for all rounds: the median, or the best one where the machine had other work too.
func (t table) figure(f figures, of figure) float64 {
	values := slices.Sorted(slices.Values(f[of]))
	n := len(values)
	switch {
	case n == 0:
		return 0
	case !t.best:
		return (values[n/2] + values[(n-1)/2]) / 2
	case t.more:
		return values[n-1]
	}
	return values[0]
}

func (t table) writeRow(out io.Writer, load string, list []entry) {
	mine, best, ratio := "", "", ""
	var others []string
	at := slices.IndexFunc(list, func(e entry) bool { return e.limiter == own })
	top := slices.IndexFunc(list, func(e entry) bool { return t.rival(e.limiter) })
	if at >= 0 {
		mine = number(list[at].value)
	}
	if top >= 0 {
		best = list[top].limiter + " " + number(list[top].value)
	}
	if at >= 0 && top >= 0 {
		ratio = t.ratio(list[at].value, list[top].value)
	}
	if len(list) == 1 && at == 0 {
		fmt.Fprintf(out, "| %s | %s |\n", load, mine)
		return
	}
	for i, e := range list {
		if i == at || i == top {
			continue
		}
		other := e.limiter + " " + number(e.value)
		if at >= 0 && t.rival(e.limiter) && t.ratio(list[at].value, e.value) != "" {
			other += " (" + t.ratio(list[at].value, e.value) + ")"
		}
		others = append(others, other)
	}
	if !t.plain {
		best += " | " + ratio
	}
	fmt.Fprintf(out, "| %s | %s | %s | %s |\n", load, mine, best, strings.Join(others, ", "))
}

// rounds says of how many rounds the figures are, and what of them.
func (t table) rounds(f figures) string {
	fewest, most := math.MaxInt, 0
	for name, values := range f {
		if name.benchmark == t.benchmark && name.unit == t.unit {
			fewest, most = min(fewest, len(values)), max(most, len(values))
		}
	}
	what := "median"
	if t.best {
		what = "best"
	}
	switch {
	case most == 1:
		return "one round"
	case fewest < most:
		return fmt.Sprintf("%s of %d to %d rounds", what, fewest, most)
	}
	return fmt.Sprintf("%s of %d rounds", what, most)
}

// ratio is how many times better ours is; below 1 it is worse. Of nothing there is no ratio.
func (t table) ratio(mine, best float64) string {
	if t.plain {
		return ""
	}
	if t.more {
		mine, best = best, mine
	}
	if mine <= 0 || best <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", best/mine)
}

// number has three digits that matter, or all before the point.
func number(v float64) string {
	switch {
	case v >= 100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
