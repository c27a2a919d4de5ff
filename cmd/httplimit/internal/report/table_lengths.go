package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// WriteSuggestions writes, for a terminal, the suggested limit of each rule over windows of each length, and what each
// would have refused alone.
func WriteSuggestions(w io.Writer, data Data) error {
	var b strings.Builder
	b.WriteString("\nSuggested limits, by window\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RULE\tWINDOW\tLIMIT\tTHEIR PEAK\tPEOPLE\tREFUSED\tPEOPLE REFUSED\tBOTS REFUSED")
	var reasons []string
	for _, rule := range data.plain().Rules {
		for _, window := range rule.Windows {
			row, why := window.suggestionRow(rule.Limit.Algorithm)
			fmt.Fprintf(t, "%s\t%s\t%s\n", rule.Name, shortWindow(window.Length), row)
			if why = rule.Name + ": no limit is suggested; " + why + "."; row == none && !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, why := range reasons {
		b.WriteString("- " + why + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// none is the row of a window for which no limit is suggested.
const none = "–"

func (w Window) suggestionRow(a limiter.Algorithm) (row, why string) {
	s, why := w.Suggest(a)
	if why != "" {
		return none, why
	}
	row = fmt.Sprintf("%s\t%s\t%s\t", shortLimit(s), number(s.Peak), number(s.Rests))
	if !s.Replayed {
		return row + "not replayed", ""
	}
	all := s.People.plus(s.Bots)
	return row + fmt.Sprintf("%s\t%s\t%s", number(all.Refused), number(s.People.ClientsRefused),
		number(s.Bots.ClientsRefused)), ""
}

// shortWindow writes the length of a window as limits have it: "1m", "15m", "1h".
func shortWindow(length time.Duration) string {
	text := strings.TrimPrefix(limiter.Per(1, length).String(), "1/")
	if text[0] < '0' || text[0] > '9' {
		return "1" + text
	}
	return text
}
