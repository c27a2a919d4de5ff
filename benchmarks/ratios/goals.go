package main

import (
	"fmt"
	"io"
	"math"
)

// goal is one figure that was aimed at. It is of httplimit beside something else, as the text says.
type goal struct {
	what    string
	compute func(medians) float64 // NaN if something that it is made of was not measured
	wanted  float64               // NaN: nothing, it is there to be seen
	most    bool                  // wanted is the most that it may be, and not the least
	unit    string
}

// medians look figures up that stand for all rounds.
type medians struct {
	figures figures
	best    bool // the best round instead of the median
}

// of returns one figure, NaN if it was not measured.
func (m medians) of(benchmark, load, limiter, unit string) float64 {
	f := figure{benchmark, load, limiter, unit}
	if len(m.figures[f]) == 0 {
		return math.NaN()
	}
	t := table{best: m.best, more: unit == "decisions/s"}
	return t.figure(m.figures, f)
}

// writeGoals prints what became of each goal.
func writeGoals(out io.Writer, f figures, best bool) {
	fmt.Fprint(out, "\n### Goals\n\n| what | figure | goal | |\n|---|---|---|---|\n")
	for _, g := range goals() {
		value := g.compute(medians{f, best})
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", g.what, g.figure(value), g.bound(), g.verdict(value))
	}
}

func (g goal) figure(value float64) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "not measured"
	}
	return fmt.Sprintf("%.2f%s", value, g.unit)
}

func (g goal) bound() string {
	switch {
	case math.IsNaN(g.wanted):
		return ""
	case g.most:
		return fmt.Sprintf("at most %g%s", g.wanted, g.unit)
	}
	return fmt.Sprintf("at least %g%s", g.wanted, g.unit)
}

func (g goal) verdict(value float64) string {
	switch {
	case math.IsNaN(g.wanted) || math.IsNaN(value) || math.IsInf(value, 0):
		return ""
	case g.most && value <= g.wanted, !g.most && value >= g.wanted:
		return "met"
	}
	return "missed"
}
