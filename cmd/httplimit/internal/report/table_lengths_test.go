package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/limiter"
)

func TestWriteSuggestions(t *testing.T) {
	people := []report.Peak{{Units: 4, Clients: 1234}}
	data := report.Data{Rules: []report.Rule{
		{Name: "address", Limit: limiter.PerMinute(10), Windows: []report.Window{
			{Length: time.Minute, People: people, Curve: []report.Point{{Requests: 10, Bots: report.Counts{Requests: 9000,
				Refused: 7000, Clients: 9, ClientsRefused: 3}}}},
			{Length: 10 * time.Second, People: people},
			{Length: time.Hour}}},
		{Name: "left", Limit: limiter.PerHour(1), LeftOut: "The log does not tell it."}}}
	var got strings.Builder
	if err := report.WriteSuggestions(&got, data); err != nil {
		t.Fatal(err)
	}
	const want = `
Suggested limits, by window

RULE     WINDOW  LIMIT   THEIR PEAK  PEOPLE  REFUSED  PEOPLE REFUSED  BOTS REFUSED
address  1m      10/m    4           1,234   7,000    0               3
address  10s     10/10s  4           1,234   not replayed
address  1h      –
- address: no limit is suggested; no client was classed as people.
`
	if got.String() != want {
		t.Errorf("the suggestions are\n%s\nwant\n%s", got.String(), want)
	}
}
