package report

import (
	"fmt"
	"strings"
)

// suggestions say what each suggested limit rests on, or why there is none.
func (t *table) suggestions(rules []Rule) {
	for _, r := range rules {
		if r.LeftOut != "" {
			t.prose("- ", r.Name+" was left out. "+r.LeftOut)
			continue
		}
		t.prose("- ", r.Name+": "+suggestionText(r))
	}
	if len(rules) > 0 {
		t.line("")
	}
}

func suggestionText(r Rule) string {
	s, why := r.Suggest()
	if why != "" {
		return "no limit is suggested; " + why + "."
	}
	text := fmt.Sprintf("%s is suggested, as 99.9 %% of %s classed as people never asked for more than %s.",
		shortLimit(s), counted(s.Rests, "client", "clients"), number(s.Peak))
	if !s.Replayed {
		return text
	}
	return text + fmt.Sprintf(" Alone it would have refused %s, and %s.",
		refusals(s.People, "people"), refusals(s.Bots, "bots"))
}

// Careful is said in every report.
const careful = "These are the policy's answers to the traffic that was logged. Clients who are refused might have " +
	"behaved differently: some wait and come back, some try harder, some leave."

func (t *table) notes(data Data) {
	for _, w := range data.Input.Warnings {
		t.prose("! ", w)
	}
	if data.Input.FirstBad != "" {
		t.prose("! ", "The first line that was not understood: "+data.Input.FirstBad)
	}
	for _, r := range data.Rules {
		for _, note := range r.Notes {
			t.prose("! ", r.Name+": "+note)
		}
	}
	t.prose("! ", careful)
}

// wrapped breaks text at spaces; words longer than a line are cut.
func wrapped(text string, width int) (lines []string) {
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		runes := []rune(word)
		if length > 0 && length+1+len(runes) > width {
			lines, line, length = append(lines, line), "", 0
		}
		for len(runes) > width {
			lines, runes = append(lines, string(runes[:width])), runes[width:]
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+string(runes), length+len(runes)
	}
	return append(lines, line)
}
