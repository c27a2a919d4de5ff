package report

import (
	"fmt"
	"math"
	"time"
)

const heatLevels = 5

// heatPicture draws the busiest clients over time: the fuller a cell's colour, the more requests; the strip at its
// foot, the larger the share that would have been refused.
func (r Rule) heatPicture(width float64) *picture {
	p := newPicture(width, 0)
	p.Title = "The busiest clients over time, rule " + r.Name
	left, top, most := 170.0, 52.0, 120
	if p.narrow() {
		left, most = 128, 60
	}
	h := r.Heat.coarser(most)
	const cell = 13.0
	p.H = top + cell*float64(max(1, len(h.Rows))) + 40
	busiest := h.busiest()
	p.Desc = fmt.Sprintf("%s, up to %s in %s.", counted(int64(len(h.Rows)), "client", "clients"),
		counted(busiest, "request", "requests"), span(h.Step))
	p.text("head", "", 0, 12, "Requests of each client per "+span(h.Step))
	p.heatLegend(busiest)
	if len(h.Rows) == 0 {
		p.text("label", "", left, top+20, "none")
		return p
	}
	length := time.Duration(len(h.Rows[0].Passed)) * h.Step
	area := panel{p, left, top, width - left - 12, cell * float64(len(h.Rows)), linear(0, length.Seconds()), nil}
	var levels [heatLevels]pen
	var refused pen
	step := area.width / float64(len(h.Rows[0].Passed))
	for i, row := range h.Rows {
		y := top + cell*float64(i)
		p.text("small", "end", left-6, y+10, shorten(row.Key, int(left/6)-2)+botMark(row))
		for j := range row.Passed {
			all := row.Passed[j] + row.Refused[j]
			if all == 0 {
				continue
			}
			x := left + step*float64(j)
			levels[level(all, busiest)].rect(x, y+1, step, cell-2)
			if row.Refused[j] > 0 {
				foot := max(2.5, (cell-2)*of(row.Refused[j], all))
				refused.rect(x, y+cell-1-foot, step, foot)
			}
		}
	}
	for i := range levels {
		p.path(fmt.Sprintf("heat%d", i+1), levels[i].String())
	}
	p.path("area refused", refused.String())
	area.times(h.Start, length)
	p.text("tick", "end", width, p.H-2, "time in UTC; ◆ is a bot")
	return p
}

func botMark(row HeatRow) string {
	if row.Bot {
		return " ◆"
	}
	return ""
}

// level is logarithmic: a client who is a hundred times as busy must not hide all others.
func level(n, busiest int64) int {
	if busiest <= 1 {
		return heatLevels - 1
	}
	return min(heatLevels-1, int(heatLevels*math.Log(float64(n))/math.Log(float64(busiest))))
}

// heatLegend shows the levels with the least number of each, and the strip.
func (p *picture) heatLegend(busiest int64) {
	x := 0.0
	for i := range heatLevels {
		least := int64(math.Ceil(math.Pow(float64(busiest), float64(i)/heatLevels)))
		text := compact(float64(max(1, least))) + "+"
		p.path(fmt.Sprintf("heat%d", i+1), (&pen{}).rect(x, 25, 12, 11).String())
		p.text("small", "", x+15, 35, text)
		x += 24 + 6.8*float64(len(text))
	}
	p.path("heat3", (&pen{}).rect(x, 25, 12, 11).String())
	p.path("area refused", (&pen{}).rect(x, 32, 12, 4).String())
	p.text("small", "", x+16, 35, "strip: share refused")
}

func (h Heat) busiest() (most int64) {
	for _, row := range h.Rows {
		for j := range row.Passed {
			most = max(most, row.Passed[j]+row.Refused[j])
		}
	}
	return most
}

// coarser joins steps until there are at most so many.
func (h Heat) coarser(most int) Heat {
	if len(h.Rows) == 0 || len(h.Rows[0].Passed) == 0 {
		return Heat{Start: h.Start, Step: h.Step}
	}
	group := max(1, (len(h.Rows[0].Passed)+most-1)/most)
	out := Heat{Start: h.Start, Step: h.Step * time.Duration(group)}
	for _, row := range h.Rows {
		row.Passed, row.Refused = joined(row.Passed, group), joined(row.Refused, group)
		out.Rows = append(out.Rows, row)
	}
	return out
}
