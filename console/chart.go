package console

import (
	"math"
	"strconv"
	"strings"
)

// chart is a graph of a rate over time: bars in a box of width x height units, which the page stretches to its place.
// Its texts stand beside it in HTML, as those in an SVG would be stretched too.
type chart struct {
	Width, Height int
	Before        int // how much of the width was before anything was counted
	Areas         []area
	Top, Half     string // the values at the top of the scale and at its middle, a second
	Label         string // for those who do not see it
}

// area is one series of a chart: the outline of its bars.
type area struct {
	Class string
	Path  string
}

// chartSeries is what is drawn: how much was counted in each stretch of so many seconds.
type chartSeries struct {
	class  string
	counts []uint64
}

const chartHeight = 100

// newChart draws series on one scale. What comes later lies above.
func newChart(label string, seconds int, all ...chartSeries) chart {
	var most uint64
	for _, s := range all {
		for _, n := range s.counts {
			most = max(most, n)
		}
	}
	top := roundUp(float64(most) / float64(seconds))
	c := chart{
		Width: len(all[0].counts), Height: chartHeight, Label: label, Top: rate(top), Half: rate(top / 2),
	}
	for _, s := range all {
		c.Areas = append(c.Areas, area{s.class, outline(s.counts, chartHeight/(top*float64(seconds)))})
	}
	return c
}

// roundUp returns the next 1, 2 or 5 times a power of ten: a scale that can be read, and does not change all the time.
func roundUp(x float64) float64 {
	if x <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, step := range []float64{1, 2, 5, 10} {
		if x <= step*power*(1+1e-9) {
			return step * power
		}
	}
	return 10 * power
}

// outline is the path around bars of one unit's width. What is not zero can be seen: it is a hundredth high at least.
func outline(counts []uint64, scale float64) string {
	var b strings.Builder
	var height, from int
	flush := func(to int) {
		if height > 0 {
			b.WriteByte('M')
			b.WriteString(strconv.Itoa(from))
			b.WriteByte(' ')
			b.WriteString(strconv.Itoa(chartHeight))
			b.WriteByte('v')
			b.WriteString(strconv.Itoa(-height))
			b.WriteByte('h')
			b.WriteString(strconv.Itoa(to - from))
			b.WriteByte('v')
			b.WriteString(strconv.Itoa(height))
			b.WriteByte('z')
		}
		from = to
	}
	for i, n := range counts {
		h := 0
		if n > 0 {
			h = min(chartHeight, max(2, int(math.Round(float64(n)*scale))))
		}
		if h != height {
			flush(i)
			height = h
		}
	}
	flush(len(counts))
	return b.String()
}
