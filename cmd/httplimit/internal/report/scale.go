package report

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// panel is a rectangle of a picture with scales for both directions. A scale takes a value to 0 … 1.
type panel struct {
	*picture
	left, top, width, height float64
	across, up               func(float64) float64
}

func (p panel) x(v float64) float64 { return p.left + p.width*p.across(v) }
func (p panel) y(v float64) float64 { return p.top + p.height*(1-p.up(v)) }
func (p panel) bottom() float64     { return p.top + p.height }
func (p panel) right() float64      { return p.left + p.width }

func linear(from, to float64) func(float64) float64 {
	if to <= from {
		to = from + 1
	}
	return func(v float64) float64 { return min(1, max(0, (v-from)/(to-from))) }
}

func logarithmic(from, to float64) func(float64) float64 {
	of := linear(math.Log10(from), math.Log10(to))
	return func(v float64) float64 { return of(math.Log10(max(v, from))) }
}

// decadeAbove is the power of ten that is at least v, and at least 10.
func decadeAbove(v int64) float64 {
	decade := 10.0
	for decade < float64(v) {
		decade *= 10
	}
	return decade
}

// niceAbove is the least of 1, 2, 5, 10 … that is at least v.
func niceAbove(v float64) float64 {
	for decade := 1.0; decade < 1e18; decade *= 10 {
		for _, step := range []float64{1, 2, 5} {
			if step*decade >= v {
				return step * decade
			}
		}
	}
	return v
}

// compact writes an axis' number in few characters.
func compact(v float64) string {
	for _, u := range []struct {
		of   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= u.of {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", v/u.of), ".0") + u.name
		}
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// upTicks draws lines across the panel at values, and their texts to the left.
func (p panel) upTicks(values []float64, text func(float64) string) {
	grid := &pen{}
	for _, v := range values {
		grid.line(p.left, p.y(v), p.right(), p.y(v))
		p.text("tick", "end", p.left-6, p.y(v)+4, text(v))
	}
	p.path("grid", grid.String())
}

// decades draws the ticks of a logarithmic axis across, from 1 to most.
func (p panel) decades(most float64) {
	grid := &pen{}
	gap := p.x(10) - p.x(1)
	for v := 1.0; v <= most; v *= 10 {
		grid.line(p.x(v), p.top, p.x(v), p.bottom())
		p.text("tick", "middle", p.x(v), p.bottom()+16, compact(v))
		for _, step := range []float64{2, 5} {
			if v < most && gap > 90 {
				grid.line(p.x(v*step), p.bottom(), p.x(v*step), p.bottom()+4)
				p.text("tick", "middle", p.x(v*step), p.bottom()+16, compact(v*step))
			}
		}
	}
	p.path("grid", grid.String())
	p.axis()
}

func (p panel) axis() {
	p.path("axis", (&pen{}).line(p.left, p.bottom(), p.right(), p.bottom()).String())
}

var timeSteps = []struct {
	step   time.Duration
	format string
}{
	{time.Second, "15:04:05"}, {5 * time.Second, "15:04:05"}, {15 * time.Second, "15:04:05"},
	{time.Minute, "15:04"}, {5 * time.Minute, "15:04"}, {10 * time.Minute, "15:04"}, {30 * time.Minute, "15:04"},
	{time.Hour, "15:04"}, {2 * time.Hour, "15:04"}, {3 * time.Hour, "15:04"}, {6 * time.Hour, "15:04"},
	{12 * time.Hour, "15:04"}, {24 * time.Hour, "2 Jan"}, {2 * 24 * time.Hour, "2 Jan"},
	{7 * 24 * time.Hour, "2 Jan"}, {14 * 24 * time.Hour, "2 Jan"}, {28 * 24 * time.Hour, "2 Jan 2006"},
	{56 * 24 * time.Hour, "2 Jan 2006"}, {168 * 24 * time.Hour, "2 Jan 2006"},
}

// times draws the ticks of an axis of time. The panel's scale across takes seconds since from.
func (p panel) times(from time.Time, length time.Duration) {
	p.axis()
	for _, s := range timeSteps {
		room := p.width / (textWidth(s.format) + 16)
		if length/s.step > time.Duration(room) && s != timeSteps[len(timeSteps)-1] {
			continue
		}
		grid := &pen{}
		at := from.UTC().Truncate(s.step)
		if at.Before(from) {
			at = at.Add(s.step)
		}
		half, free := textWidth(s.format)/2, 0.0
		for n := 0; !at.After(from.Add(length)) && n < 100; at, n = at.Add(s.step), n+1 {
			x := p.x(at.Sub(from).Seconds())
			grid.line(x, p.bottom(), x, p.bottom()+4)
			if x = min(max(x, half), p.W-half); x-half >= free {
				p.text("tick", "middle", x, p.bottom()+16, at.Format(tickFormat(s.format, at, length)))
				free = x + half + 6
			}
		}
		p.path("axis", grid.String())
		return
	}
}

// tickFormat names the day at midnight where there are several.
func tickFormat(format string, at time.Time, length time.Duration) string {
	if length > 24*time.Hour && at.Equal(at.Truncate(24*time.Hour)) && format == "15:04" {
		return "2 Jan"
	}
	return format
}

// upright draws a line up the panel at a limit, and its name beside it in one of the rows above the panel.
func (p panel) upright(class string, row int, v float64, name string) {
	x, y := p.x(v), p.top-12-float64(row)*15
	p.path(class, (&pen{}).line(x, y-2, x, p.bottom()).String())
	if x+5+textWidth(name) > min(p.W+4, p.right()+40) {
		p.text("label "+class+"-text", "end", x-5, y+3, name)
		return
	}
	p.text("label "+class+"-text", "", x+5, y+3, name)
}

// legend names the lines of people and bots, whose marks differ too.
func (p *picture) legend(x, y float64) {
	p.path("line people", (&pen{}).line(x, y-4, x+22, y-4).String())
	p.path("dot people", (&pen{}).disc(x+11, y-4, 3.2).String())
	p.text("label", "", x+28, y, "people")
	x += 84
	p.path("line bots", (&pen{}).line(x, y-4, x+22, y-4).String())
	p.path("dot bots", (&pen{}).diamond(x+11, y-4, 4.2).String())
	p.text("label", "", x+28, y, "bots")
}
