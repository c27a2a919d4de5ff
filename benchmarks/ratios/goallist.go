package main

import (
	"fmt"
	"math"
)

const times = "x"

func goals() []goal {
	var list []goal
	list = append(list, ruleGoals()...)
	list = append(list, redisGoals()...)
	list = append(list, memoryGoals()...)
	return append(list, webGoals()...)
}

// ruleGoals compare sets of rules in Redis with one rule.
func ruleGoals() []goal {
	compare := func(set string, callers int, unit string) func(medians) float64 {
		load := fmt.Sprintf("server=redis callers=%d offered=max answer=allowed rules=", callers)
		return func(m medians) float64 {
			return m.of("Rules", load+set+" threads=2", own, unit) / m.of("Rules", load+"one threads=2", own, unit)
		}
	}
	var list []goal
	for _, set := range []struct {
		name, what string
		alone      float64 // the server CPU that is wanted with one caller
		together   float64 // and with 64
	}{
		{"two", "two windows of one client", 1.5, 1.6},
		{"second+day", "a second and a day, as in the README", 1.5, 1.6},
		{"shadow", "one shadow rule alone", 1.2, 1.2},
		{"ban", "a rule with a Ban", 1.5, 1.5},
	} {
		what := "Redis, " + set.what + ": server CPU of one rule, "
		list = append(list,
			goal{what + "1 caller", compare(set.name, 1, "server-ns/op"), set.alone, true, times},
			goal{what + "64 callers", compare(set.name, 64, "server-ns/op"), set.together, true, times})
		if set.name == "two" || set.name == "second+day" {
			what := "Redis, " + set.what + ": decisions/s of one rule, 64 callers"
			list = append(list, goal{what, compare(set.name, 64, "decisions/s"), 0.75, false, times})
		}
	}
	return list
}

// redisGoals compare one rule with rivals.
func redisGoals() []goal {
	load := func(name string) string { return "server=redis " + name + " answer=allowed threads=2" }
	one, many, most := load("callers=1 offered=max"), load("callers=64 offered=max"), load("callers=256 offered=max")
	paced := load("callers=64 offered=20000")
	// more is how many times a rival's decisions, less how many times less than the rival's CPU; of several the best.
	more := func(load string, rivals ...string) func(medians) float64 {
		return func(m medians) float64 {
			best := math.Inf(-1)
			for _, rival := range rivals {
				best = math.Max(best, m.of("Remote", load, rival, "decisions/s"))
			}
			return m.of("Remote", load, own, "decisions/s") / best
		}
	}
	less := func(load, unit string, rivals ...string) func(medians) float64 {
		return func(m medians) float64 {
			best := math.Inf(1)
			for _, rival := range rivals {
				best = math.Min(best, m.of("Remote", load, rival, unit))
			}
			return best / m.of("Remote", load, own, unit)
		}
	}
	rueidis := []string{"rueidislimiter", "rueidislimiter-tuned"}
	const rate, pipelined = "redis_rate", "redis_rate-autopipeline"
	return []goal{
		{"Redis, 1 caller: decisions/s of redis_rate", more(one, rate), 1.1, false, times},
		{"Redis, 64 callers: decisions/s of rueidislimiter at its best", more(many, rueidis...), 2.5, false, times},
		{"Redis, 64 callers: decisions/s of redis_rate", more(many, rate), 5.5, false, times},
		{"the same, redis_rate with AutoPipeline", more(many, pipelined), math.NaN(), false, times},
		{"Redis, 64 callers: less server CPU than rueidislimiter", less(many, "server-ns/op", rueidis...), 3.5, false, times},
		{"Redis, 256 callers: decisions/s of redis_rate", more(most, rate), 10, false, times},
		{"Redis, 256 callers: less CPU of both sides than redis_rate", less(most, "cpu-ns/op", rate), 12, false, times},
		{"Redis, 20,000/s offered: less CPU than redis_rate", less(paced, "cpu-ns/op", rate), 1.5, false, times},
		{"the same, redis_rate with AutoPipeline", less(paced, "cpu-ns/op", pipelined), math.NaN(), false, times},
	}
}

// memoryGoals compare times of decisions in memory.
func memoryGoals() []goal {
	faster := func(load, limiter string, threads int, wanted float64) goal {
		what := fmt.Sprintf("memory, %s, %s, %d threads: less time than go-limiter", limiterCall(limiter), load, threads)
		name := fmt.Sprintf("load=%s answer=allowed threads=%d", load, threads)
		return goal{what, func(m medians) float64 {
			return m.of("Memory", name, "go-limiter", "ns/op") / m.of("Memory", name, limiter, "ns/op")
		}, wanted, false, times}
	}
	const take = own + "-take"
	return []goal{
		faster("hot", own, 1, 1.3),
		faster("hot", own, 2, 1.3),
		faster("uniform100k", own, 1, 1.5),
		faster("uniform100k", own, 2, 1.6),
		faster("hot", take, 2, 1.8),
		{"flood of new keys: less time than httprate", func(m medians) float64 {
			return m.of("Flood", "threads=2", "httprate", "ns/op") / m.of("Flood", "threads=2", own, "ns/op")
		}, 2.4, false, times},
		{"flood of new keys: longest operation, of the best rival's", func(m medians) float64 {
			_, best := m.bestRival("Flood", "threads=2", "worst-ns")
			return m.of("Flood", "threads=2", own, "worst-ns") / best
		}, math.NaN(), true, times},
		{"heap a minute after a flood of 2,000,000 has expired, 10 clients left", func(m medians) float64 {
			return m.of("Expired", "threads=2", own, "left-MB")
		}, 10, true, " MB"},
	}
}

func limiterCall(limiter string) string {
	if limiter == own {
		return "Limiter.Allow"
	}
	return "Store.Take"
}

// webGoals compare what middleware takes above the bare handler.
func webGoals() []goal {
	compare := func(framework, answer string, wanted float64) goal {
		what := "middleware over net/http, " + answer + ": less time than go-limiter"
		load := "framework=" + framework + " key=address answer=" + answer + " threads=1"
		return goal{what, func(m medians) float64 {
			return m.above(load, "go-limiter") / m.above(load, own)
		}, wanted, false, times}
	}
	list := []goal{compare("net-http", "allowed", 2.8), compare("net-http", "refused", 2.6)}
	for _, framework := range []string{"echo", "echo5", "fiber", "fiber3"} {
		list = append(list, alikeGoals(framework)...)
	}
	return list
}

// alikeGoals compare an adapter with the framework's own limiters, where it tells clients about as much as they do.
func alikeGoals(framework string) (list []goal) {
	for _, answer := range []string{"allowed", "refused"} {
		what := "adapter that tells as little as " + framework + "'s own limiter, " + answer +
			", worst of its loads: less time"
		list = append(list, goal{what, worst(framework, answer), 1, false, times})
	}
	return list
}

func (m medians) above(load, limiter string) float64 {
	return m.of("Web", load, limiter, "ns/op") - m.of("Web", load, "none", "ns/op")
}

// worst is the worst ratio of all keys and threads to the framework's own limiters.
func worst(framework, answer string) func(medians) float64 {
	rivals := map[string][]string{
		"echo": {"echo"}, "fiber": {"fiber-fixed", "fiber-sliding"},
		"echo5": {"echo5"}, "fiber3": {"fiber3-fixed", "fiber3-sliding"},
	}[framework]
	return func(m medians) float64 {
		worst := math.Inf(1)
		for _, key := range []string{"address", "header"} {
			for threads := 1; threads <= 2; threads++ {
				load := fmt.Sprintf("framework=%s key=%s answer=%s threads=%d", framework, key, answer, threads)
				for _, rival := range rivals {
					worst = math.Min(worst, m.above(load, rival)/m.above(load, own+"-alike"))
				}
			}
		}
		return worst
	}
}
