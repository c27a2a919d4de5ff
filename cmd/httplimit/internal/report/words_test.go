package report

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestWords(t *testing.T) {
	at := time.Date(2026, time.March, 2, 6, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(-1234567), "-1,234,567"},
		{percent(0, 0), "0 %"}, {percent(0, 7), "0 %"}, {percent(7, 7), "100 %"},
		{percent(1, 1e6), "< 0.01 %"}, {percent(1, 999), "0.10 %"},
		{percent(1, 30), "3.3 %"}, {percent(1, 3), "33 %"},
		{percent(999_999, 1_000_000), "99.9 %"}, {percent(994, 1000), "99.4 %"},
		{wait(0), "0 ms"}, {wait(1500 * time.Millisecond), "1.5 s"}, {wait(2 * time.Second), "2 s"},
		{wait(90 * time.Second), "90 s"}, {wait(10 * time.Minute), "10 min"}, {wait(5 * time.Hour), "5 h"},
		{wait(72 * time.Hour), "3 days"}, {wait(limiter.Never), "for ever"},
		{span(time.Minute), "minute"}, {span(15 * time.Second), "15 seconds"}, {span(36 * time.Hour), "36 hours"},
		{span(1500 * time.Millisecond), "1,500 milliseconds"}, {spanOne(time.Hour), "1 hour"},
		{spanOne(2 * time.Hour), "2 hours"},
		{limitWords(limiter.PerMinute(1)), "1 request per minute"},
		{limitWords(limiter.Limit{Requests: 20, Window: time.Second, Burst: 40}),
			"20 requests per second, bursts of up to 40"},
		{period(at, at.Add(time.Minute)), "2026-03-02 05:00:00 – 05:01:00"},
		{period(at, at.Add(24*time.Hour)), "2026-03-02 05:00:00 – 2026-03-03 05:00:00"},
		{lasted(at, at.Add(time.Second)), "1 second"}, {lasted(at, at.Add(90*time.Minute)), "90 minutes"},
		{lasted(at, at.Add(24*time.Hour-time.Second)), "24 hours"}, {lasted(at, at.Add(30*24*time.Hour)), "30 days"},
		{shorten("abcdefgh", 8), "abcdefgh"}, {shorten("abcdefghi", 8), "abcd…ghi"}, {shorten("äöüäöüäöü", 5), "äö…öü"},
		{plain("a\x1b[31mb\u202ec\xffd"), "a·[31mb·c·d"},
		{refusals(Counts{}, "bots"), "no request of bots"},
		{refusals(Counts{Refused: 1, ClientsRefused: 2}, "bots"), "1 request of 2 clients classed as bots"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestAxes(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{niceAbove(0), 1}, {niceAbove(3), 5}, {niceAbove(5), 5}, {niceAbove(5001), 10000},
		{decadeAbove(0), 10}, {decadeAbove(10), 10}, {decadeAbove(11), 100},
		{linear(0, 0)(5), 1}, {linear(2, 4)(3), 0.5}, {linear(2, 4)(9), 1},
		{logarithmic(1, 100)(10), 0.5}, {logarithmic(1, 100)(0), 0},
		{shareScale(0), 0}, {shareScale(1), 1}, {shareScale(0.00001), 0.14},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}
