package report

import (
	"fmt"
	"time"
)

// timelinePicture draws what passed and what would have been refused, minute by minute, each with a scale of its own.
func (r Rule) timelinePicture(width float64) *picture {
	p := newPicture(width, 300)
	t, grouped := r.Timeline.coarser(int((width - 60) / 2.5))
	p.Title = "Requests per minute under the rule " + r.Name
	p.Desc = fmt.Sprintf("%s passed and %s would have been refused from %s UTC on.",
		number(r.Total.Requests-r.Total.Refused), number(r.Total.Refused), moment(t.Start))
	per := " per minute"
	if grouped > 1 {
		per += fmt.Sprintf(", mean of %d minutes", grouped)
	}
	length := time.Duration(len(t.Passed)) * t.Step
	panels := []struct {
		name, class string
		counts      []int64
		top, height float64
	}{{"Passed", "area passed", t.Passed, 26, 124}, {"Refused", "area refused", t.Refused, 188, 76}}
	for i, it := range panels {
		most := int64(0)
		for _, n := range it.counts {
			most = max(most, n)
		}
		minutes := t.Step.Minutes()
		ceiling := niceAbove(float64(most) / minutes)
		area := panel{p, 48, it.top, width - 60, it.height, linear(0, length.Seconds()), linear(0, ceiling)}
		p.text("head", "", 0, it.top-12, it.name+per)
		if most > 0 {
			area.upTicks([]float64{0, ceiling / 2, ceiling}, compact)
		}
		if i == 0 {
			area.axis()
		} else {
			area.times(t.Start, length)
		}
		if most == 0 {
			p.text("label", "middle", area.left+area.width/2, area.top+area.height/2+4, "none")
			continue
		}
		p.path(it.class, area.steps(it.counts, minutes, t.Step))
	}
	p.text("tick", "end", width, 298, "time in UTC")
	return p
}

// steps is the outline of one bar a step, without gaps between them.
func (p panel) steps(counts []int64, minutes float64, step time.Duration) string {
	d := (&pen{}).do('M', p.left, p.bottom())
	for i, n := range counts {
		d.do('V', p.y(float64(n)/minutes)).do('H', p.x((time.Duration(i+1) * step).Seconds()))
	}
	return d.do('V', p.bottom()).do('z').String()
}

// coarser joins steps until there are at most so many, and returns how many minutes one has.
func (t Timeline) coarser(most int) (Timeline, int) {
	group := max(1, (len(t.Passed)+most-1)/most)
	out := Timeline{Start: t.Start, Step: t.Step * time.Duration(group)}
	out.Passed, out.Refused = joined(t.Passed, group), joined(t.Refused, group)
	if out.Step <= 0 {
		out.Step = time.Minute
	}
	return out, int(out.Step / time.Minute)
}

func joined(counts []int64, group int) []int64 {
	out := make([]int64, (len(counts)+group-1)/group)
	for i, n := range counts {
		out[i/group] += n
	}
	return out
}
