package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/report/sample"
)

var colors = regexp.MustCompile(`\x1b\[\d+m`)

func table(t *testing.T, data report.Data, style report.Style) string {
	t.Helper()
	var out bytes.Buffer
	if err := report.WriteTable(&out, data, style); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTableFitsItsWidth(t *testing.T) {
	for name, data := range sample.All() {
		for _, width := range []int{0, 80, 120, 200} {
			text := table(t, data, report.Style{Width: width})
			for _, line := range strings.Split(text, "\n") {
				if n := utf8.RuneCountInString(line); n > max(80, width) {
					t.Errorf("%s at %d: a line of %d: %q", name, width, n, line)
				}
			}
			for _, r := range text {
				if r != '\n' && (r < ' ' || r == '\u202e') {
					t.Errorf("%s at %d: control character %U without colours", name, width, r)
				}
			}
			if colored := table(t, data, report.Style{Width: width, Color: true}); colors.ReplaceAllString(colored, "") != text {
				t.Errorf("%s at %d: colours change more than colours:\n%s", name, width, colored)
			}
		}
	}
}

func TestTable(t *testing.T) {
	const want = `read     7,318 lines of combined
from     2026-03-02 06:00:00 – 10:59:59 UTC, 5 hours
`
	data := sample.All()["leftout"]
	data.Input.Lines, data.Input.Parsed = 7318, 7318
	got := table(t, data, report.Style{})
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s, want at its beginning\n%s", got, want)
	}
	for _, want := range []string{
		"\nRULE     LIMIT  REQUESTS  REFUSED", "\nexport   20/h   left out, see below\n",
		"- export was left out. The log does not hold the header X-API-Key. Log it, or\n  name its column with -map.\n",
		"! These are the policy's answers to the traffic that was logged.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s, want in it %q", got, want)
		}
	}
}
