package report

import "fmt"

// peaksPicture draws how many clients asked for at least so many units in their busiest window.
func (r Rule) peaksPicture(width float64) *picture {
	p := newPicture(width, 330)
	w := r.ownWindow()
	p.Title = "How much clients ask for in their busiest window, rule " + r.Name
	p.Desc = fmt.Sprintf("%s of people and %s of bots peak above the limit of %s.",
		counted(above(w.People, r.Limit.Requests), "client", "clients"),
		counted(above(w.Bots, r.Limit.Requests), "client", "clients"), r.Limit)
	s, why := r.Suggest()
	most := max(r.Limit.Requests, s.Limit.Requests, last(w.People), last(w.Bots))
	clients := max(clientsOf(w.People), clientsOf(w.Bots))
	area := panel{p, 48, 84, width - 62, 192, logarithmic(1, decadeAbove(most)), logarithmic(1, decadeAbove(clients))}
	p.text("head", "", 0, 12, "Clients whose busiest window has at least …")
	p.legend(width-140, p.legendRow())
	ticks := []float64{}
	for v := 1.0; v <= decadeAbove(clients); v *= 10 {
		ticks = append(ticks, v)
	}
	area.upTicks(ticks, compact)
	area.decades(decadeAbove(most))
	p.text("tick", "end", width, p.H-18, "… so many requests per "+span(w.Length))
	logarithmic := p.H - 18
	if p.narrow() {
		logarithmic = p.H - 2
	}
	p.text("tick", "", 0, logarithmic, "both axes are logarithmic")
	area.upright("limit", 1, float64(max(1, r.Limit.Requests)), "limit "+limitMark(r))
	if why == "" {
		area.upright("suggested", 0, float64(s.Limit.Requests), "suggested "+shortLimit(s))
	}
	area.atLeast("people", w.People)
	area.atLeast("bots", w.Bots)
	return p
}

// legendRow is below the heading where there is no room beside it.
func (p *picture) legendRow() float64 {
	if p.narrow() {
		return 32
	}
	return 12
}

func (r Rule) ownWindow() Window {
	if len(r.Windows) == 0 {
		return Window{Length: r.Limit.Window}
	}
	return r.Windows[0]
}

func limitMark(r Rule) string {
	l := r.Limit
	l.Algorithm, l.Burst = 0, 0
	return l.String()
}

// above is how many clients peak above a limit.
func above(peaks []Peak, limit int64) (clients int64) {
	for _, p := range peaks {
		if p.Units > limit {
			clients += p.Clients
		}
	}
	return clients
}

func last(peaks []Peak) int64 {
	if len(peaks) == 0 {
		return 0
	}
	return peaks[len(peaks)-1].Units
}

// atLeast draws a stair that falls from all clients to the one with the highest peak.
func (p panel) atLeast(class string, peaks []Peak) {
	left := clientsOf(peaks)
	if left == 0 {
		return
	}
	line, x := (&pen{}).do('M', p.left, p.y(float64(left))), p.left
	for i, peak := range peaks {
		x = p.x(float64(peak.Units))
		line.do('H', x)
		left -= peak.Clients
		if i < len(peaks)-1 {
			line.do('V', p.y(float64(left)))
		}
	}
	p.path("line "+class, line.String())
	y := p.y(float64(peaks[len(peaks)-1].Clients))
	if class == "people" {
		p.path("dot people", (&pen{}).disc(x, y, 3.6).String())
		return
	}
	p.path("dot bots", (&pen{}).diamond(x, y, 4.6).String())
}
