package replay

import (
	"slices"
	"time"
)

// axis cuts time into steps, numbered from the epoch. Where it would need more than most of them it goes over to longer
// ones, so that what is counted by step has a bound whatever the length of the log.
type axis struct {
	level       int // of steps
	first, last int64
	most        int64
	begun       bool
}

// steps are the lengths to choose from, in seconds. Each is a multiple of the one before.
var steps = []int64{1, 5, 10, 30, 60, 120, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 864000, 8640000,
	86400000, 864000000}

const minuteLevel = 4

// stepOf returns the length of the steps of a level in milliseconds.
func stepOf(level int) int64 { return steps[level] * 1000 }

// at returns the number of the step of a moment, in Unix milliseconds, and goes over to longer steps if there are too
// many. Moments never go back.
func (a *axis) at(ms int64) int64 {
	n := ms / stepOf(a.level)
	if !a.begun {
		a.begun, a.first, a.last = true, n, n
	}
	for n-a.first >= a.most && a.level < len(steps)-1 {
		wider := steps[a.level+1] / steps[a.level]
		a.level++
		a.first /= wider
		n = ms / stepOf(a.level)
	}
	a.last = n
	return n
}

// number returns the number of the step of a moment that at was called with, or a later one.
func (a *axis) number(ms int64) int64 { return ms / stepOf(a.level) }

// start returns when the first step begins.
func (a *axis) start() time.Time { return time.UnixMilli(a.first * stepOf(a.level)).UTC() }

func (a *axis) step() time.Duration { return time.Duration(stepOf(a.level)) * time.Millisecond }

func (a *axis) len() int {
	if !a.begun {
		return 0
	}
	return int(a.last-a.first) + 1
}

// tally counts what passed and what was refused by step. It holds the steps in which there was something.
type tally struct {
	level int
	steps []tallied
}

// tallied is one step. Numbers of seconds fit until 2106.
type tallied struct{ step, passed, refused uint32 }

// add counts a request in a step of the axis.
func (t *tally) add(a *axis, number int64, refused bool) {
	t.widen(a.level)
	step := uint32(number)
	if last := len(t.steps) - 1; last < 0 || t.steps[last].step != step {
		t.steps = append(t.steps, tallied{step: step})
	}
	if one := &t.steps[len(t.steps)-1]; refused {
		one.refused++
	} else {
		one.passed++
	}
}

// widen goes over to the steps of a level that is not smaller.
func (t *tally) widen(level int) {
	if t.level == level || len(t.steps) == 0 {
		t.level = level
		return
	}
	wider := uint32(steps[level] / steps[t.level])
	kept := t.steps[:0]
	for _, one := range t.steps {
		one.step /= wider
		if last := len(kept) - 1; last >= 0 && kept[last].step == one.step {
			kept[last].passed += one.passed
			kept[last].refused += one.refused
			continue
		}
		kept = append(kept, one)
	}
	t.steps, t.level = slices.Clip(kept), level
}

// fill returns a number for each step of the axis.
func (t *tally) fill(a *axis) (passed, refused []int64) {
	t.widen(a.level)
	passed, refused = make([]int64, a.len()), make([]int64, a.len())
	for _, one := range t.steps {
		passed[int64(one.step)-a.first], refused[int64(one.step)-a.first] = int64(one.passed), int64(one.refused)
	}
	return passed, refused
}
