package report

import (
	"encoding/json"
	"io"
	"time"
)

// WriteJSON writes data for programs. The names stay as long as "version" is 1; more may be added.
func WriteJSON(w io.Writer, data Data) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(toJSON(data))
}

type jsonReport struct {
	Version        int        `json:"version"`
	Policy         string     `json:"policy,omitempty"`
	Anonymized     bool       `json:"anonymized,omitempty"`
	Input          jsonInput  `json:"input"`
	Refused        int64      `json:"refused"`
	ClientsRefused int64      `json:"clientsRefused"`
	Rules          []jsonRule `json:"rules"`
}

type jsonInput struct {
	Files    int        `json:"files"`
	Lines    int64      `json:"lines"`
	Parsed   int64      `json:"parsed"`
	Bad      int64      `json:"bad"`
	FirstBad string     `json:"firstBad,omitempty"`
	Outside  int64      `json:"outside"`
	Format   string     `json:"format"`
	From     *time.Time `json:"from"` // null if no line was understood
	To       *time.Time `json:"to"`
	Clients  int64      `json:"clients"`
	People   int64      `json:"people"`
	Warnings []string   `json:"warnings"`
}

type jsonRule struct {
	Name           string          `json:"name"`
	Limit          string          `json:"limit"`
	Key            string          `json:"key"`
	LeftOut        string          `json:"leftOut,omitempty"`
	Notes          []string        `json:"notes,omitempty"`
	Requests       int64           `json:"requests"`
	Refused        int64           `json:"refused"`
	Clients        int64           `json:"clients"`
	ClientsRefused int64           `json:"clientsRefused"`
	People         jsonCounts      `json:"people"`
	Bots           jsonCounts      `json:"bots"`
	Suggestion     *jsonSuggestion `json:"suggestion"` // null if there is none
	NoSuggestion   string          `json:"noSuggestion,omitempty"`
}

type jsonCounts struct {
	Requests       int64 `json:"requests"`
	Refused        int64 `json:"refused"`
	Clients        int64 `json:"clients"`
	ClientsRefused int64 `json:"clientsRefused"`
}

type jsonSuggestion struct {
	Limit          string `json:"limit"`
	Refused        *int64 `json:"refused"` // null if it was not replayed
	ClientsRefused *int64 `json:"clientsRefused"`
	Clients        int64  `json:"clients"` // it rests on, all classed as people
}

func toJSON(data Data) jsonReport {
	in := data.Input
	report := jsonReport{
		Version: 1, Policy: data.Policy, Anonymized: data.Anonymized,
		Input: jsonInput{
			Files: len(in.Files), Lines: in.Lines, Parsed: in.Parsed, Bad: in.Bad, FirstBad: in.FirstBad,
			Outside: in.Outside, Format: in.Format, From: momentOrNull(in.From), To: momentOrNull(in.To),
			Clients: in.Clients, People: in.People, Warnings: append([]string{}, in.Warnings...),
		},
		Refused: data.Refused, ClientsRefused: data.ClientsRefused,
		Rules: make([]jsonRule, 0, len(data.Rules)),
	}
	for _, rule := range data.Rules {
		report.Rules = append(report.Rules, rule.toJSON())
	}
	return report
}

func (r Rule) toJSON() jsonRule {
	rule := jsonRule{
		Name: r.Name, Limit: r.Limit.String(), Key: r.Key, LeftOut: r.LeftOut, Notes: r.Notes,
		Requests: r.Total.Requests, Refused: r.Total.Refused,
		Clients: r.Total.Clients, ClientsRefused: r.Total.ClientsRefused,
		People: jsonCounts(r.People), Bots: jsonCounts(r.Bots),
	}
	s, why := r.Suggest()
	if why != "" {
		rule.NoSuggestion = why
		return rule
	}
	rule.Suggestion = &jsonSuggestion{Limit: s.Limit.String(), Clients: s.Rests}
	if s.Replayed {
		all := s.People.plus(s.Bots)
		rule.Suggestion.Refused, rule.Suggestion.ClientsRefused = &all.Refused, &all.ClientsRefused
	}
	return rule
}

func momentOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
