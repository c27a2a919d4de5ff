package report_test

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report/sample"
	"github.com/httplimit/httplimit/limiter"
)

func pageOf(t *testing.T, data report.Data) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.WriteHTML(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

var (
	ids     = regexp.MustCompile(` id="([^"]*)"`)
	refs    = regexp.MustCompile(`(?:href="#|aria-labelledby=")([^"]*)"`)
	tags    = regexp.MustCompile(`<[^>]*>`)
	fetches = regexp.MustCompile(
		`(?i)<(script|link rel="style|iframe|object|img|image|use)|url\(|@import|\bsrc=|\bon[a-z]+="`)
)

func TestPages(t *testing.T) {
	for name, data := range sample.All() {
		t.Run(name, func(t *testing.T) { checkPage(t, pageOf(t, data), data) })
	}
}

func checkPage(t *testing.T, page string, data report.Data) {
	t.Helper()
	seen := map[string]bool{}
	for _, id := range ids.FindAllStringSubmatch(page, -1) {
		if seen[id[1]] {
			t.Errorf("two elements have the id %q", id[1])
		}
		seen[id[1]] = true
	}
	for _, ref := range refs.FindAllStringSubmatch(page, -1) {
		for _, id := range strings.Fields(ref[1]) {
			if !seen[id] {
				t.Errorf("nothing has the id %q", id)
			}
		}
	}
	for _, broken := range []string{"NaN", "Inf", "ZgotmplZ", "no value", "e+0", "e+1"} {
		if strings.Contains(page, broken) {
			t.Errorf("the page has %q: %s", broken, around(page, broken))
		}
	}
	for _, tag := range tags.FindAllString(withoutPictures(page), -1) { // < and > of clients are escaped
		if fetches.MatchString(tag) && !strings.Contains(tag, "&lt;") {
			t.Errorf("the page has %s", tag)
		}
	}
	drawn := 0
	for _, r := range data.Rules {
		if r.LeftOut == "" {
			drawn++
		}
	}
	if got := strings.Count(page, "<svg "); got != 12*drawn {
		t.Errorf("%d pictures, want six in two sizes for each of %d rules", got, drawn)
	}
}

// withoutPictures leaves out the paths and texts of pictures, of which there are very many, and all of one form.
func withoutPictures(page string) string {
	lines := strings.Split(page, "\n")
	kept := slices.DeleteFunc(lines, func(line string) bool {
		drawn := strings.HasPrefix(line, `<path class="`) && strings.Count(line, "<") == 1 && strings.HasSuffix(line, `"/>`)
		return drawn || strings.HasPrefix(line, `<text class="`) && strings.Count(line, "<") == 2
	})
	return strings.Join(kept, "\n")
}

func around(page, part string) string {
	at := strings.Index(page, part)
	return page[max(0, at-120):min(len(page), at+120)]
}

// Whatever a replay hands over, a page is made of it.
func TestPageOfOddData(t *testing.T) {
	const most = math.MaxInt64 / 4
	odd := report.Counts{Requests: most, Refused: most, Clients: 1, ClientsRefused: 1}
	now := time.Date(2026, time.March, 2, 6, 0, 0, 0, time.UTC)
	for name, rule := range map[string]report.Rule{
		"all zero": {},
		"a limit of 0": {Limit: limiter.PerMinute(0), Total: odd, People: odd, Windows: []report.Window{
			{Length: time.Minute, People: peaks(most, 1), Curve: []report.Point{{Requests: 0, People: odd}}}}},
		"numbers as large as they get": {Limit: limiter.PerDay(1e9), Total: odd, Bots: odd,
			Timeline:    report.Timeline{Start: now, Step: time.Minute, Passed: []int64{most}, Refused: []int64{most}},
			Windows:     []report.Window{{Length: 366 * 24 * time.Hour, Bots: peaks(1, most, most, 1)}},
			MostRefused: []report.Client{{Key: strings.Repeat("k", 1000), Refused: most, Requests: most}},
			Heat:        report.Heat{Rows: []report.HeatRow{{Passed: []int64{most}, Refused: []int64{most}}}},
			Algorithms: []report.Outcome{{Refused: most, MostAdmitted: most, Wait50: limiter.Never, Wait99: limiter.Never,
				WaitMax: limiter.Never}, {Refused: 1, Wait50: 1, Wait99: limiter.Never, WaitMax: limiter.Never}}},
		"times in the wrong order": {Limit: limiter.PerSecond(1), Total: odd,
			MostRefused: []report.Client{{Refused: 1, First: now.Add(time.Hour), Last: now}},
			Heat:        report.Heat{Start: now, Rows: []report.HeatRow{{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			data := report.Data{Rules: []report.Rule{rule}, Input: report.Input{Parsed: 1, Lines: 1, From: now, To: now}}
			checkPage(t, pageOf(t, data), data)
			table(t, data, report.Style{Color: true})
			decoded(t, data)
		})
	}
}

func TestYearOfMinutesMakesASmallPage(t *testing.T) {
	data := sample.All()["day"]
	year := make([]int64, 366*24*60)
	for i := range year {
		year[i] = int64(i % 977)
	}
	data.Rules[0].Timeline.Passed, data.Rules[0].Timeline.Refused = year, year
	if n := len(pageOf(t, data)); n > 500_000 {
		t.Errorf("the page has %d bytes", n)
	}
}
