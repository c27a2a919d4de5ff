package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Style is how a table is set.
type Style struct {
	Width int  // of the terminal in characters; 0 means 80, and below that it is 80
	Color bool // bold, dim and yellow; only for a terminal
}

// WriteTable writes data for a terminal: what was read, one line a rule, what each suggestion rests on, and what to be
// careful about. No line is longer than the width.
func WriteTable(w io.Writer, data Data, style Style) error {
	t, data := table{Style: style}, data.plain()
	t.Width = max(t.Width, 80)
	t.input(data)
	t.rules(data.Rules)
	t.suggestions(data.Rules)
	t.notes(data)
	_, err := io.WriteString(w, t.text.String())
	return err
}

type table struct {
	Style
	text strings.Builder
}

const (
	bold = "\x1b[1m"
	dim  = "\x1b[2m"
	warn = "\x1b[33m"
)

// paint returns text in a colour. Columns are padded before they are painted, as the codes have no width.
func (t *table) paint(code, text string) string {
	if !t.Color || strings.TrimSpace(text) == "" {
		return text
	}
	return code + text + "\x1b[0m"
}

func (t *table) line(text string) { t.text.WriteString(strings.TrimRight(text, " ") + "\n") }

// prose sets text in lines of at most the width; all but the first are indented like the text after mark.
func (t *table) prose(mark, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(mark))
	for i, line := range wrapped(text, t.Width-len(indent)) {
		if i == 0 {
			t.line(t.paint(markColor(mark), mark) + line)
			continue
		}
		t.line(indent + line)
	}
}

func markColor(mark string) string {
	if mark == "! " {
		return warn
	}
	return bold
}

func (t *table) input(data Data) {
	in := data.Input
	read := counted(in.Lines, "line", "lines") + " of " + in.Format
	if in.Bad > 0 {
		read += fmt.Sprintf(", %s (%s) not understood", number(in.Bad), percent(in.Bad, in.Lines))
	}
	if in.Outside > 0 {
		read += fmt.Sprintf(", %s left out", number(in.Outside))
	}
	t.prose("read     ", read)
	if !in.From.IsZero() {
		t.prose("from     ", period(in.From, in.To)+" UTC, "+lasted(in.From, in.To))
	}
	t.prose("clients  ", fmt.Sprintf("%s: %s classed as people, %s as bots",
		number(in.Clients), number(in.People), number(in.Clients-in.People)))
	t.prose("refused  ", fmt.Sprintf("%s of %s (%s), %s of %s",
		number(data.Refused), counted(in.Replayed(), "request", "requests"), percent(data.Refused, in.Replayed()),
		number(data.ClientsRefused), counted(in.Clients, "client", "clients")))
	t.line("")
}

// columns of the table of rules. Those that are wide stand only where there are 120 characters.
type column struct {
	head string
	wide bool
	text bool // set to the left, and cut to fit; numbers are set to the right, and never cut
	cell func(Rule) string
}

var columns = []column{
	{head: "RULE", text: true, cell: func(r Rule) string { return r.Name }},
	{head: "LIMIT", text: true, cell: func(r Rule) string { return r.Limit.String() }},
	{head: "KEY", wide: true, text: true, cell: func(r Rule) string { return r.Key }},
	{head: "REQUESTS", cell: func(r Rule) string { return number(r.Total.Requests) }},
	{head: "REFUSED", cell: func(r Rule) string { return number(r.Total.Refused) }},
	{head: "", cell: func(r Rule) string { return percent(r.Total.Refused, r.Total.Requests) }},
	{head: "CLIENTS REFUSED", cell: func(r Rule) string { return clientsRefused(r.Total) }},
	{head: "PEOPLE", wide: true, cell: func(r Rule) string { return clientsRefused(r.People) }},
	{head: "BOTS", wide: true, cell: func(r Rule) string { return clientsRefused(r.Bots) }},
	{head: "SUGGESTED", text: true, cell: func(r Rule) string {
		s, why := r.Suggest()
		if why != "" {
			return "–"
		}
		return shortLimit(s)
	}},
}

func clientsRefused(c Counts) string { return number(c.ClientsRefused) + " of " + number(c.Clients) }

// shortLimit leaves out the algorithm, which is the rule's.
func shortLimit(s Suggestion) string {
	s.Limit.Algorithm = 0
	return s.Limit.String()
}

func (t *table) rules(rules []Rule) {
	if len(rules) == 0 {
		return
	}
	shown := make([]column, 0, len(columns))
	for _, c := range columns {
		if !c.wide || t.Width >= 120 {
			shown = append(shown, c)
		}
	}
	cells := make([][]string, len(rules))
	for i, r := range rules {
		for _, c := range shown {
			cells[i] = append(cells[i], c.cell(r))
		}
	}
	widths := fit(shown, cells, rules, t.Width)
	t.line(t.paint(dim, row(shown, widths, func(i int) string { return shown[i].head })))
	for i, r := range rules {
		t.line(t.rule(r, shown, widths, cells[i]))
	}
	t.line("")
}

func (t *table) rule(r Rule, shown []column, widths []int, cells []string) string {
	if r.LeftOut != "" {
		head := pad(cells[0], widths[0], true) + "  " + pad(cells[1], widths[1], true) + "  "
		return head + t.paint(dim, "left out, see below")
	}
	return row(shown, widths, func(i int) string { return cells[i] })
}

// fit chooses the columns' widths: as wide as their texts, and where that is too much, the columns of text give way,
// the widest first.
func fit(shown []column, cells [][]string, rules []Rule, width int) []int {
	widths := make([]int, len(shown))
	total := 2 * (len(shown) - 1)
	for i, c := range shown {
		widths[i] = utf8.RuneCountInString(c.head)
		for j := range cells {
			if rules[j].LeftOut == "" || i < 2 {
				widths[i] = max(widths[i], utf8.RuneCountInString(cells[j][i]))
			}
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := -1
		for i, c := range shown {
			if c.text && widths[i] > 4 && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

func row(shown []column, widths []int, cell func(int) string) string {
	parts := make([]string, len(shown))
	for i, c := range shown {
		parts[i] = pad(cell(i), widths[i], c.text)
	}
	return strings.Join(parts, "  ")
}

func pad(text string, width int, left bool) string {
	text = shorten(text, width)
	gap := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if left {
		return text + gap
	}
	return gap + text
}
