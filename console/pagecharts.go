package console

import (
	"fmt"
	"time"
)

// chartView is a chart with the texts beside it.
type chartView struct {
	Class, Title, Unit, Value string
	Chart                     chart
	Times                     []string
}

func (o *overview) refusedChart() chartView {
	v := o.upToNow().newChartView("refused", "Refused", bucketSeconds,
		chartSeries{"refused", o.live.Refused}, chartSeries{"unavailable", o.live.Unavailable})
	v.Value = rate(float64(o.Requests.Now.Refused)/float64(o.Requests.Window.NowSeconds)) + "/s now"
	return v
}

func (o *overview) passedChart() chartView {
	v := o.upToNow().newChartView("passed", "Passed", bucketSeconds, chartSeries{"passed", o.live.Passed})
	v.Value = rate(float64(o.Requests.Now.Passed)/float64(o.Requests.Window.NowSeconds)) + "/s now"
	return v
}

// upToNow returns o with the time of the series that ends now.
func (o *overview) upToNow() *overview {
	moved := *o
	if o.second%bucketSeconds != 0 {
		moved.Requests.Window.From = o.Requests.Window.From.Add(bucketSeconds * time.Second)
	}
	return &moved
}

// newChartView draws the last 15 minutes in bars of so many seconds.
func (o *overview) newChartView(class, title string, seconds int, all ...chartSeries) chartView {
	from := o.Requests.Window.From
	v := chartView{Class: class, Title: title, Unit: "requests a second"}
	end := from.Add(time.Duration(len(all[0].counts)*seconds) * time.Second)
	if before := o.Process.Started.Sub(from); before > 0 {
		v.Chart.Before = min(len(all[0].counts), int(before/(time.Duration(seconds)*time.Second)))
	}
	before := v.Chart.Before
	v.Chart = newChart("", seconds, all...)
	v.Chart.Before = before
	v.Chart.Label = fmt.Sprintf("%s, requests a second, from %s to %s: at most %s", title,
		from.Format("15:04:05"), end.Format("15:04:05"), rate(peak(all, seconds)))
	for i := range 4 {
		v.Times = append(v.Times, from.Add(end.Sub(from)*time.Duration(i)/3).Format("15:04:05"))
	}
	return v
}

func peak(all []chartSeries, seconds int) float64 {
	var most uint64
	for _, s := range all {
		for _, n := range s.counts {
			most = max(most, n)
		}
	}
	return float64(most) / float64(seconds)
}

// spark is the small graph of a rule: refused before passed, each as a share of the highest.
func (row *ruleRow) spark() chart {
	s := row.Series
	total := make([]uint64, len(s.Passed))
	for i := range total {
		total[i] = s.Passed[i] + s.Refused[i]
	}
	shadow := make([]uint64, len(s.Shadow))
	for i := range shadow {
		if s.Shadow[i] > 0 {
			shadow[i] = s.Shadow[i] + s.Refused[i]
		}
	}
	label := fmt.Sprintf("the last 15 minutes: up to %s requests a second, up to %s refused",
		rate(peak([]chartSeries{{"", total}}, bucketSeconds)),
		rate(peak([]chartSeries{{"", s.Refused}}, bucketSeconds)))
	c := newChart(label, bucketSeconds,
		chartSeries{"passed", total}, chartSeries{"shadow", shadow}, chartSeries{"refused", s.Refused})
	c.Before = row.before
	return c
}

// ruleCharts draws what a rule did, second by second.
func (o *overview) ruleCharts(r *ruleState, row *ruleRow) []chartView {
	w := &o.Requests.Window
	from := o.second - keptSeconds
	seconds := make([]tally, keptSeconds)
	if r.series != nil {
		r.series.read(from, seconds)
	}
	turned, shadow, passing := make([]uint64, keptSeconds), make([]uint64, keptSeconds), make([]uint64, keptSeconds)
	for i := range seconds {
		n := seconds[i].counts()
		turned[i], shadow[i], passing[i] = n.Turned(), n.ShadowRefused, n.Passed()
	}
	at := *o
	at.Requests.Window.From = time.Unix(int64(from), 0)
	first := at.newChartView("refused", "Refused", 1, chartSeries{"refused", turned})
	first.Value = rate(float64(row.Now.Turned())/float64(w.NowSeconds)) + "/s now"
	if row.Shadow || row.Last.ShadowRefused > 0 {
		first = at.newChartView("refused", "Refused, and would be", 1,
			chartSeries{"shadow", shadow}, chartSeries{"refused", turned})
		first.Value = fmt.Sprintf("%s/s and %s/s now", rate(float64(row.Now.Turned())/float64(w.NowSeconds)),
			rate(float64(row.Now.ShadowRefused)/float64(w.NowSeconds)))
	}
	second := at.newChartView("passed", "Passed", 1, chartSeries{"passed", passing})
	second.Value = rate(float64(row.Now.Passed())/float64(w.NowSeconds)) + "/s now"
	return []chartView{first, second}
}
