package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// writeSummary prints the lines of the README: what matters most, the losses among the wins. Ratios are of times and
// rates, and above 1 where httplimit is better.
func writeSummary(out io.Writer, m medians) {
	for _, line := range []string{memoryLine(m), webLine(m), redisLine(m), rulesLine(m)} {
		fmt.Fprintln(out, wrapped("- "+line))
	}
}

func memoryLine(m medians) string {
	load := func(keys string, threads int) string {
		return fmt.Sprintf("load=%s answer=allowed threads=%d", keys, threads)
	}
	ours := func(keys string) float64 { return m.of("Memory", load(keys, 1), own, "ns/op") }
	best := func(keys string, threads int) string {
		rival, value := m.bestRival("Memory", load(keys, threads), "ns/op")
		return fmt.Sprintf("%.2f (%s)", value/m.of("Memory", load(keys, threads), own, "ns/op"), rival)
	}
	rival, longest := m.bestRival("Flood", "threads=2", "worst-ns")
	return fmt.Sprintf("In memory `Limiter.Allow` takes %.0f ns for one hot key and %.0f ns among 100,000; the best "+
		"rival takes %s and %s times as long, from two threads %s and %s. The longest operation in a "+
		"flood of new keys takes %.1f times the best rival's (%s).",
		ours("hot"), ours("uniform100k"), best("hot", 1), best("uniform100k", 1), best("hot", 2), best("uniform100k", 2),
		m.of("Flood", "threads=2", own, "worst-ns")/longest, rival)
}

func webLine(m medians) string {
	load := func(framework, answer string) string {
		return "framework=" + framework + " key=address answer=" + answer + " threads=1"
	}
	times := func(framework, answer, rival string) float64 {
		return m.above(load(framework, answer), rival) / m.above(load(framework, answer), own)
	}
	return fmt.Sprintf("The middleware adds %.0f ns to a request, and no allocation; go-limiter's takes %.2f times as "+
		"long, and %.2f times to refuse. Echo v4's own limiter, which tells nothing, takes %.2f and %.2f times our "+
		"time, Fiber v2's %.2f and %.2f.", m.above(load("net-http", "allowed"), own),
		times("net-http", "allowed", "go-limiter"), times("net-http", "refused", "go-limiter"),
		times("echo", "allowed", "echo"), times("echo", "refused", "echo"),
		times("fiber", "allowed", "fiber-fixed"), times("fiber", "refused", "fiber-fixed"))
}

func redisLine(m medians) string {
	const one, many, paced = "callers=1 offered=max", "callers=64 offered=max", "callers=64 offered=20000"
	of := func(load, limiter, unit string) float64 {
		return m.of("Remote", "server=redis "+load+" answer=allowed threads=2", limiter, unit)
	}
	rate := func(load, rival string) float64 { return of(load, own, "decisions/s") / of(load, rival, "decisions/s") }
	cpu := func(rival string) float64 { return of(paced, rival, "cpu-ns/op") / of(paced, own, "cpu-ns/op") }
	return fmt.Sprintf("In Redis one caller gets %.2f times the decisions of redis_rate and %.2f times those of ulule; "+
		"64 callers get %.1f times those of redis_rate, %.1f times with go-redis' AutoPipeline, and %.1f times those of "+
		"rueidislimiter, tuned. At 20,000 decisions a second redis_rate takes %.2f times our CPU, with AutoPipeline %.2f.",
		rate(one, "redis_rate"), rate(one, "ulule"), rate(many, "redis_rate"), rate(many, "redis_rate-autopipeline"),
		rate(many, "rueidislimiter-tuned"), cpu("redis_rate"), cpu("redis_rate-autopipeline"))
}

func rulesLine(m medians) string {
	cpu := func(rules string, callers int) float64 {
		load := fmt.Sprintf("server=redis callers=%d offered=max answer=allowed rules=", callers)
		return m.of("Rules", load+rules+" threads=2", own, "server-ns/op") /
			m.of("Rules", load+"one threads=2", own, "server-ns/op")
	}
	return fmt.Sprintf("Two rules of one client take %.2f times the CPU of Redis that one takes, with 64 callers "+
		"%.2f; a Ban %.2f and %.2f.", cpu("two", 1), cpu("two", 64), cpu("ban", 1), cpu("ban", 64))
}

// bestRival is the lowest figure of all rivals and whose it is, NaN if there are none.
func (m medians) bestRival(benchmark, load, unit string) (rival string, best float64) {
	best = math.NaN()
	for name := range m.figures {
		if name.benchmark != benchmark || name.load != load || name.unit != unit || !(table{}).rival(name.limiter) {
			continue
		}
		if value := m.of(benchmark, load, name.limiter, unit); !(best <= value) {
			rival, best = name.limiter, value
		}
	}
	return rival, best
}

// wrapped breaks a line of a list where the README does.
func wrapped(line string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(line) {
		switch {
		case i > 0 && column+1+len(word) > 120:
			b.WriteString("\n  ")
			column = 2
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
