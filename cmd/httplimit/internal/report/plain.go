package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain makes one line of text that is only shown. Clients write names, agents and paths; a control character could
// move a terminal's cursor, and one that turns the direction of writing could make a page read otherwise than it is.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '·'
		}
		return r
	}, text)
}

// plain returns data with all of its texts made plain. What data shares with others stays as it is.
func (data Data) plain() Data {
	in := &data.Input
	data.Tool, data.Policy = plain(data.Tool), plain(data.Policy)
	in.Format, in.FirstBad = plain(in.Format), plain(in.FirstBad)
	in.Files, in.Warnings = eachPlain(in.Files), eachPlain(in.Warnings)
	in.Bots = slices.Clone(in.Bots)
	for i := range in.Bots {
		in.Bots[i].Why = plain(in.Bots[i].Why)
	}
	data.Rules = slices.Clone(data.Rules)
	for i := range data.Rules {
		data.Rules[i] = data.Rules[i].plain()
	}
	return data
}

func (r Rule) plain() Rule {
	r.Name, r.Key, r.When, r.LeftOut = plain(r.Name), plain(r.Key), plain(r.When), plain(r.LeftOut)
	r.Notes = eachPlain(r.Notes)
	r.MostRefused = slices.Clone(r.MostRefused)
	for i := range r.MostRefused {
		c := &r.MostRefused[i]
		c.Key, c.Why, c.Agent, c.Paths = plain(c.Key), plain(c.Why), plain(c.Agent), eachPlain(c.Paths)
	}
	r.Heat.Rows = slices.Clone(r.Heat.Rows)
	for i := range r.Heat.Rows {
		r.Heat.Rows[i].Key = plain(r.Heat.Rows[i].Key)
	}
	r.Algorithms = slices.Clone(r.Algorithms)
	for i := range r.Algorithms {
		r.Algorithms[i].LeftOut = plain(r.Algorithms[i].LeftOut)
	}
	return r
}

func eachPlain(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = plain(text)
	}
	return out
}
