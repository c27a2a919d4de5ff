package report

import (
	"fmt"
	"math"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// algorithmsPicture draws the same limit under each algorithm: what it refuses, the most that it admits to one client
// over any stretch of one window, and what it tells the refused to wait.
func (r Rule) algorithmsPicture(width float64) *picture {
	const row = 26.0
	rows := row * float64(max(1, len(r.Algorithms)))
	p := newPicture(width, rows+66)
	p.Title = "The limit " + r.Limit.String() + " under each algorithm"
	p.Desc = "Nothing was replayed."
	if len(r.Algorithms) > 0 {
		p.Desc = fmt.Sprintf("%s refuses %s of the requests.", r.Algorithms[0].Algorithm,
			percent(r.Algorithms[0].Refused, r.Total.Requests))
	}
	block := 0.0
	at := [3]panel{{picture: p, left: 112, top: 40}, {picture: p, left: 294, top: 40}, {picture: p, left: 476, top: 40}}
	if p.narrow() {
		block = rows + 66
		p.H = 3*block + 6
		for i := range at {
			at[i] = panel{picture: p, left: 112, top: 40 + block*float64(i)}
		}
	}
	for i := range at {
		at[i].width, at[i].height = 170, rows
		if p.narrow() {
			at[i].width = 214
		}
		if i == 0 || p.narrow() {
			for j, o := range r.Algorithms {
				p.text("label", "end", at[i].left-8, at[i].top+row*float64(j)+15, algorithmMark(o.Algorithm, r))
			}
		}
	}
	at[0].refusals(r, row)
	at[1].admitted(r, row)
	at[2].waits(r, row)
	return p
}

func algorithmMark(a limiter.Algorithm, r Rule) string {
	if a == r.Limit.Algorithm {
		return "▸ " + a.String()
	}
	return a.String()
}

func (p panel) bar(class string, y, to float64, text string) {
	p.path(class, (&pen{}).rect(p.left, y+4, max(0, p.x(to)-p.left), 14).String())
	p.text("label", "", p.x(to)+5, y+15, text)
}

// narrowed leaves room to the right of the panel's bars for their texts.
func (p panel) narrowed(by float64) panel {
	p.width -= by
	return p
}

func (p panel) refusals(r Rule, row float64) {
	p.text("head", "", p.left, p.top-16, "Requests refused")
	p.axisDown()
	most := int64(0)
	for _, o := range r.Algorithms {
		most = max(most, o.Refused)
	}
	p = p.narrowed(56)
	p.across = linear(0, float64(most))
	for i, o := range r.Algorithms {
		y := p.top + row*float64(i)
		if o.LeftOut != "" {
			p.text("label", "", p.left+5, y+15, "not possible")
			continue
		}
		p.bar("area refused", y, float64(o.Refused), percent(o.Refused, r.Total.Requests))
	}
}

func (p panel) admitted(r Rule, row float64) {
	p.text("head", "", p.left, p.top-16, "Most in one window")
	p.axisDown()
	most := r.Limit.Requests
	for _, o := range r.Algorithms {
		most = max(most, o.MostAdmitted)
	}
	p = p.narrowed(56)
	p.across = linear(0, float64(most))
	for i, o := range r.Algorithms {
		y := p.top + row*float64(i)
		if o.LeftOut == "" {
			p.bar("area passed", y, float64(o.MostAdmitted), number(o.MostAdmitted))
		}
	}
	x := p.x(float64(r.Limit.Requests))
	p.path("limit", (&pen{}).line(x, p.top-4, x, p.bottom()).String())
	p.text("tick", "middle", x, p.bottom()+16, "limit "+number(r.Limit.Requests))
}

// waits draws the median as a dot and a line up to the 99th percentile.
func (p panel) waits(r Rule, row float64) {
	p.text("head", "", p.left, p.top-16, "Retry-After")
	p.axisDown()
	longest := time.Second
	for _, o := range r.Algorithms {
		if o.WaitMax < limiter.Never {
			longest = max(longest, o.WaitMax)
		}
	}
	p = p.narrowed(100)
	most := math.Ceil(longest.Seconds())
	p.across = linear(0, most)
	for i, o := range r.Algorithms {
		y := p.top + row*float64(i) + 11
		if o.LeftOut != "" || o.Refused == 0 {
			p.text("label", "", p.left+5, y+4, "none")
			continue
		}
		if o.Wait50 == limiter.Never {
			p.text("label", "", p.left+5, y+4, "for ever")
			continue
		}
		x50, x99 := p.x(o.Wait50.Seconds()), p.x(min(o.Wait99, longest).Seconds())
		p.path("spell", (&pen{}).line(x50, y, x99, y).line(x99, y-4, x99, y+4).String())
		p.path("dot median", (&pen{}).disc(x50, y, 4).String())
		p.text("label", "", x99+5, y+4, fromTo(wait(o.Wait50), wait(o.Wait99)))
	}
	p.text("tick", "", p.left, p.bottom()+16, "● median, ┤ 99th percentile")
}

func fromTo(from, to string) string {
	if from == to {
		return from
	}
	return from + " – " + to
}

func (p panel) axisDown() {
	p.path("axis", (&pen{}).line(p.left, p.top, p.left, p.bottom()).String())
}
