package console

import (
	"strings"
	"testing"
	"time"
)

func TestTexts(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{rate(0), "0"}, {rate(0.05), "<0.1"}, {rate(0.1), "0.1"}, {rate(0.3), "0.3"}, {rate(2), "2"},
		{rate(2.46), "2.5"}, {rate(9.94), "9.9"}, {rate(9.96), "10"}, {rate(1234.4), "1,234"}, {rate(9999.4), "9,999"},
		{rate(10_000), "10k"},
		{rate(999_499), "999k"}, {rate(1_500_000), "1.5M"},
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"},
		{share(0, 0), "0 %"}, {share(0, 5), "0 %"}, {share(1, 100_000), "<0.1 %"}, {share(1, 3), "33 %"},
		{share(5, 100), "5.0 %"}, {share(99_999, 100_000), ">99.9 %"}, {share(5, 5), "100 %"},
		{span(0), "0 ms"}, {span(12 * time.Millisecond), "12 ms"}, {span(45 * time.Second), "45 s"},
		{span(time.Minute), "1 min"}, {span(200 * time.Second), "3 min 20 s"},
		{span(2*time.Hour + 5*time.Minute), "2 h 5 min"},
		{span(99 * time.Hour), "4 d 3 h"}, {span(24*time.Hour + time.Second), "1 d"},
		{waitText(0), "now"}, {waitText(1), "in 1 s"}, {waitText(1<<63 - 1), "never"},
		{bounds(client{Least: 5, Most: 5}), "5"}, {bounds(client{Least: 5, Most: 1200}), "5 to 1,200"},
		{bounds(client{Most: 7}), "up to 7"},
		{clip("é"), "é"}, {clip("a" + strings.Repeat("é", 200)), "a" + strings.Repeat("é", 149) + "…"},
		{decidersText(counts{ByStore: 5}), "store"},
		{decidersText(counts{ByStore: 3, ByLocal: 1}), "store 75 %, this process 25 %"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	now := time.Date(2026, 5, 4, 13, 0, 0, 0, time.UTC)
	if got := clock(now, now.Add(-time.Hour)); got != "12:00:00" {
		t.Errorf("got %q, want the time of day", got)
	}
	if got := clock(now, now.Add(-13*time.Hour)); got != "May 4 00:00" {
		t.Errorf("got %q, want the day as well", got)
	}
}

func TestChart(t *testing.T) {
	for _, test := range []struct {
		counts  []uint64
		seconds int
		top     string
		path    string
	}{
		{[]uint64{0, 0, 0}, 1, "1", ""},
		{[]uint64{0, 5, 10}, 1, "10", "M1 100v-50h1v50zM2 100v-100h1v100z"},
		{[]uint64{10, 10, 0}, 10, "1", "M0 100v-100h2v100z"},
		{[]uint64{1, 0, 100_000}, 1, "100k", "M0 100v-2h1v2zM2 100v-100h1v100z"}, // what is not zero can be seen
		{[]uint64{0, 0, 11}, 1, "20", "M2 100v-55h1v55z"},
	} {
		c := newChart("", test.seconds, chartSeries{"", test.counts})
		if c.Top != test.top || c.Areas[0].Path != test.path || c.Width != 3 {
			t.Errorf("%v: got up to %s, %s, want %s, %s", test.counts, c.Top, c.Areas[0].Path, test.top, test.path)
		}
	}
}

// The rule that refuses most is not one that has requests answered 503: that stands beside it.
func TestMostly(t *testing.T) {
	row := func(name string, n counts) *ruleRow { return &ruleRow{Name: name, Now: n} }
	o := &overview{Rules: []*ruleRow{
		row("away", counts{Closed: 9}), row("one", counts{Refused: 1}), row("two", counts{Refused: 1, Banned: 2}),
	}}
	if got := o.mostly(); got == nil || got.Name != "two" {
		t.Errorf("got %+v, want two", got)
	}
	if got := (&overview{Rules: o.Rules[:1]}).mostly(); got != nil {
		t.Errorf("got %+v, want none", got)
	}
}
