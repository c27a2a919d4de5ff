package report

import (
	"fmt"
	"time"
)

// clientsDrawn is how many of the most refused clients the picture has; the table below it has all.
const clientsDrawn = 10

// clientsPicture draws the clients refused most: their share of all refusals, and from when to when they were refused.
func (r Rule) clientsPicture(in Input, width float64) *picture {
	clients := r.MostRefused[:min(clientsDrawn, len(r.MostRefused))]
	p := newPicture(width, 0)
	p.Title = "The clients refused most by the rule " + r.Name
	p.Desc = "Nobody would have been refused."
	rowHeight, left, bars := 26.0, 200.0, 190.0
	if p.narrow() {
		rowHeight, left, bars = 44, 0, 120
	}
	if len(clients) > 0 {
		p.Desc = fmt.Sprintf("The first of them has %s of all refusals.", percent(clients[0].Refused, r.Total.Refused))
	}
	p.H = 34 + rowHeight*float64(max(1, len(clients))) + 28
	p.text("head", "", left, 12, "Share of refusals")
	length := in.To.Sub(in.From)
	times := panel{p, left + bars + 96, 24, width - left - bars - 110, p.H - 52, linear(0, length.Seconds()), nil}
	p.text("head", "", times.left, 12, "First to last refusal")
	if len(clients) == 0 {
		p.text("label", "", left, 48, "none")
		return p
	}
	most := of(clients[0].Refused, r.Total.Refused)
	bar := panel{p, left, 0, bars, 0, linear(0, most), nil}
	for i, c := range clients {
		y := 30 + rowHeight*float64(i)
		name := shorten(c.Key, 28) + kindMark(c)
		if p.narrow() {
			p.text("label", "", 0, y+10, shorten(c.Key, 40)+kindMark(c))
			y += 16
		} else {
			p.text("label", "end", left-10, y+13, name)
		}
		share := of(c.Refused, r.Total.Refused)
		p.path("area refused", (&pen{}).rect(left, y+2, max(1.5, bar.x(share)-left), 14).String())
		p.text("label", "", bar.x(share)+6, y+13, percent(c.Refused, r.Total.Refused)+" · "+compact(float64(c.Refused)))
		p.path("spell", times.spell(in.From, c.First, c.Last, y+9))
	}
	times.times(in.From, length)
	return p
}

func kindMark(c Client) string {
	if c.Bot {
		return " (bots)"
	}
	return " (people)"
}

// spell is a line from the first to the last time, with an upright at both ends.
func (p panel) spell(from, first, last time.Time, y float64) string {
	x1, x2 := p.x(first.Sub(from).Seconds()), p.x(last.Sub(from).Seconds())
	x2 = max(x2, x1+1)
	return (&pen{}).line(x1, y-5, x1, y+5).line(x1, y, x2, y).line(x2, y-5, x2, y+5).String()
}
