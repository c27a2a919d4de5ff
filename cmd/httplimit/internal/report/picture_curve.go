package report

import "fmt"

// curvePicture draws what other limits would have refused: of requests, and of clients.
func (r Rule) curvePicture(width float64) *picture {
	p := newPicture(width, 330)
	curve := r.ownWindow().Curve
	p.Title = "What other limits would have refused, rule " + r.Name
	p.Desc = fmt.Sprintf("The limit of %s refuses %s of people's requests and %s of bots'.", r.Limit,
		percent(r.People.Refused, r.People.Requests), percent(r.Bots.Refused, r.Bots.Requests))
	areas := []panel{{p, 48, 84, width/2 - 62, 192, nil, nil}, {p, width/2 + 48, 84, width/2 - 62, 192, nil, nil}}
	if p.narrow() {
		p.H = 620
		areas[0].width, areas[1] = width-62, panel{p, 48, 376, width - 62, 192, nil, nil}
	}
	s, why := r.Suggest()
	most := max(r.Limit.Requests, s.Limit.Requests)
	for _, point := range curve {
		most = max(most, point.Requests)
	}
	p.legend(0, 12)
	for i, area := range areas {
		area.across, area.up = logarithmic(1, decadeAbove(most)), shareScale
		what, share := "Requests refused", func(c Counts) float64 { return of(c.Refused, c.Requests) }
		if i == 1 {
			what, share = "Clients refused", func(c Counts) float64 { return of(c.ClientsRefused, c.Clients) }
		}
		area.text("head", "", area.left-48, area.top-46, what)
		area.upTicks([]float64{0, 0.0001, 0.001, 0.01, 0.1, 1}, shareTick)
		area.decades(decadeAbove(most))
		area.text("tick", "end", area.right(), area.bottom()+34, "limit: requests per "+span(r.Limit.Window))
		area.upright("limit", 1, float64(max(1, r.Limit.Requests)), "limit "+limitMark(r))
		if why == "" {
			area.upright("suggested", 0, float64(s.Limit.Requests), "suggested "+shortLimit(s))
		}
		area.curve(curve, func(c Point) Counts { return c.Bots }, share, "bots")
		area.curve(curve, func(c Point) Counts { return c.People }, share, "people")
	}
	return p
}

func of(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// shareScale is logarithmic from 0.01 % to everything, with a place for nothing below it.
func shareScale(share float64) float64 {
	if share <= 0 {
		return 0
	}
	return 0.14 + 0.86*logarithmic(0.0001, 1)(share)
}

func shareTick(share float64) string {
	if share == 0 {
		return "none"
	}
	return fmt.Sprintf("%g %%", share*100)
}

func (p panel) curve(curve []Point, class func(Point) Counts, share func(Counts) float64, name string) {
	line, dots := &pen{}, &pen{}
	for i, point := range curve {
		counts := class(point)
		if counts.Clients == 0 {
			return
		}
		x, y := p.x(float64(point.Requests)), p.y(share(counts))
		if i == 0 {
			line.do('M', x, y)
		} else {
			line.do('L', x, y)
		}
		if name == "people" {
			dots.disc(x, y, 3.2)
		} else {
			dots.diamond(x, y, 4.4)
		}
	}
	p.path("line "+name, line.String())
	p.path("dot "+name, dots.String())
}
