package report_test

import (
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

func peaks(unitsAndClients ...int64) (out []report.Peak) {
	for i := 0; i < len(unitsAndClients); i += 2 {
		out = append(out, report.Peak{Units: unitsAndClients[i], Clients: unitsAndClients[i+1]})
	}
	return out
}

func TestSuggestTakesPercentileAndRoundsUp(t *testing.T) {
	for _, c := range []struct {
		name       string
		people     []report.Peak
		peak, want int64
	}{
		{"everybody asks once", peaks(1, 200), 1, 2},
		{"1.5 times the peak is a step itself", peaks(2, 900), 2, 5},
		{"3 times 2 is above 5", peaks(4, 900), 4, 10},
		{"of 200 clients the busiest counts", peaks(3, 199, 40, 1), 40, 100},
		{"of 1,000 clients one may be above", peaks(3, 999, 4000, 1), 3, 5},
		{"of 1,000 clients two may not", peaks(3, 998, 40, 2), 40, 100},
		{"of 1,999 clients one may be above", peaks(3, 1998, 40, 1), 3, 5},
		{"of 2,000 clients two may be above", peaks(3, 1998, 40, 2), 3, 5},
		{"134 is more than two thirds of 200", peaks(134, 200), 134, 500},
		{"133 is less than two thirds of 200", peaks(133, 200), 133, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := report.Window{Length: time.Minute, People: c.people, Bots: peaks(90000, 7)}
			got, why := w.Suggest(limiter.SlidingWindow)
			if why != "" || got.Peak != c.peak || got.Limit != limiter.PerMinute(c.want) {
				t.Errorf("Suggest = %v on a peak of %d, %q; want %d/m on %d", got.Limit, got.Peak, why, c.want, c.peak)
			}
		})
	}
}

func TestNoSuggestion(t *testing.T) {
	enough := peaks(70_000, 500)
	for _, c := range []struct {
		name      string
		people    []report.Peak
		algorithm limiter.Algorithm
		want      string
	}{
		{"nobody", nil, limiter.SlidingWindow, "no client was classed as people"},
		{"one", peaks(5, 1), limiter.SlidingWindow, "too few: 1 client was classed as people, at least 200 are needed"},
		{"199", peaks(5, 199), limiter.SlidingWindow, "too few: 199 clients were classed as people, at least 200 are needed"},
		{"200", peaks(5, 200), limiter.SlidingWindow, ""},
		{
			"more than a log keeps", enough, limiter.SlidingLog,
			"200,000 in a window is more than a limit by sliding-log can be",
		},
		{"any other keeps it", enough, limiter.FixedWindow, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := report.Window{Length: time.Minute, People: c.people}.Suggest(c.algorithm)
			if got != c.want {
				t.Errorf("Suggest says %q, want %q", got, c.want)
			}
		})
	}
}

func TestSuggestionOfPeaksBeyondEveryLimitIsNone(t *testing.T) {
	w := report.Window{Length: time.Minute, People: peaks(1<<62, 400)}
	if got, why := w.Suggest(limiter.SlidingWindow); why == "" {
		t.Errorf("Suggest = %v, want none", got.Limit)
	}
}

func TestSuggestionSaysWhatItWouldHaveRefused(t *testing.T) {
	refused := report.Counts{Requests: 900, Refused: 4, Clients: 300, ClientsRefused: 2}
	none := report.Counts{Requests: 900, Clients: 300}
	for _, c := range []struct {
		name     string
		curve    []report.Point
		want     report.Counts
		replayed bool
	}{
		{"not replayed", nil, report.Counts{}, false},
		{"replayed", []report.Point{{Requests: 5, People: refused}, {Requests: 10, People: none}}, refused, true},
		{"a lower limit refused nothing", []report.Point{{Requests: 2, People: none}}, none, true},
		{"a lower limit refused bots", []report.Point{{Requests: 2, People: none, Bots: refused}}, report.Counts{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, why := report.Window{Length: time.Minute, People: peaks(3, 300), Curve: c.curve}.Suggest(0)
			if why != "" || got.People != c.want || got.Replayed != c.replayed {
				t.Errorf("Suggest = %+v, %q; want %+v, replayed %v", got, why, c.want, c.replayed)
			}
		})
	}
}
