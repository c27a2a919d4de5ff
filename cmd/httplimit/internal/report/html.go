package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed picture.css
var pictureStyle string

//go:embed page.css
var ownStyle string

// pageStyle begins with the colours by day, which the page's own style replaces by night.
var pageStyle = pictureStyle + ownStyle

//go:embed page.html.tmpl
var pageText string

// The style is the page's own and its hash stands in the page's Content-Security-Policy, which forbids all else: no
// script can run and nothing can be fetched, whatever stands in a log.
var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "percent": percent, "counted": counted, "span": span, "limitWords": limitWords, "wait": wait,
	"moment": moment, "period": period, "lasted": lasted, "join": strings.Join, "refusals": refusals,
	"sentence":     func(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }, // ours, thus ASCII
	"pictureStyle": func() template.CSS { return template.CSS(pictureStyle) },
	"style":        func() template.CSS { return template.CSS(pageStyle) },
	"styleHash": func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	},
	"careful": func() string { return careful },
	"row":     func(name string, c Counts) namedCounts { return namedCounts{name, c} },
	"titled":  func(id string, t numbers) titledTable { return titledTable{id, t} },
}).Parse(pageText))

// WriteHTML writes data as one page for people. It needs no script, fetches nothing, and can be sent by mail.
func WriteHTML(w io.Writer, data Data) error { return pageTemplate.Execute(w, newPage(data)) }

// A template takes one value; these join two.
type (
	namedCounts struct {
		Name   string
		Counts Counts
	}
	titledTable struct {
		ID string
		numbers
	}
)

// WritePicture writes one of the six pictures of the rule with this name, 1 to 6 in the order of the page, as an SVG
// file of its own.
func WritePicture(w io.Writer, data Data, rule string, which int) error {
	data = data.plain()
	for _, r := range data.Rules {
		if r.Name == rule && which >= 1 && which <= 6 {
			picture := figures(r, data.Input, "rule")[which-1].Pictures[0]
			return pageTemplate.ExecuteTemplate(w, "file", picture)
		}
	}
	return fmt.Errorf("report: there is no picture %d of a rule %q", which, rule)
}

type page struct {
	Data
	Bots  int64 // clients
	Rules []pageRule
}

type pageRule struct {
	Rule
	ID         string // of its section; rules' names are no good as ids
	Suggestion Suggestion
	Why        string // there is none
	Suggested  string
	Others     []otherWindow
	Figures    []figure
	Clients    numbers // refused most
}

// otherWindow is what would be suggested over a window that is not the rule's own.
type otherWindow struct {
	Length, Suggested, Why string
	Peak                   int64
}

// figure is one picture in its two sizes, with what it says and its numbers.
type figure struct {
	ID, Name, Reads string
	Pictures        []*picture
	Table           numbers
}

func newPage(data Data) page {
	data = data.plain()
	out := page{Data: data, Bots: data.Input.Clients - data.Input.People}
	for i, r := range data.Rules {
		rule := pageRule{Rule: r, ID: fmt.Sprintf("rule-%d", i+1)}
		rule.Suggestion, rule.Why = r.Suggest()
		if rule.Why == "" {
			rule.Suggested = shortLimit(rule.Suggestion)
		}
		if len(r.Windows) > 1 && rule.Why == "" {
			rule.Others = others(r)
		}
		if r.LeftOut == "" {
			rule.Figures, rule.Clients = figures(r, data.Input, rule.ID), r.clientsTable()
		}
		out.Rules = append(out.Rules, rule)
	}
	return out
}

func others(r Rule) (out []otherWindow) {
	for _, w := range r.Windows[1:] {
		s, why := w.Suggest(r.Limit.Algorithm)
		o := otherWindow{Length: spanOne(w.Length), Why: why, Peak: s.Peak}
		if why == "" {
			o.Suggested = shortLimit(s)
		}
		out = append(out, o)
	}
	return out
}

func figures(r Rule, in Input, rule string) []figure {
	out := []figure{
		{Name: "Over time",
			Reads:    "What passed, and below it what would have been refused. The two have scales of their own.",
			Pictures: drawn(r.timelinePicture), Table: r.timelineTable()},
		{Name: "How much clients ask for",
			Reads: "Where a line crosses the limit it shows how many clients want more than that in their busiest " +
				span(r.ownWindow().Length) + ".",
			Pictures: drawn(r.peaksPicture), Table: r.peaksTable()},
		{Name: "If the limit were another",
			Reads: "If this were the only rule. The further right, the higher the limit and the less is refused. A " +
				"good limit refuses bots and hardly any people.",
			Pictures: drawn(r.curvePicture), Table: r.curveTable()},
		{Name: "Who would have been refused most",
			Reads: "A few clients with long bars are usually programs. Many with short ones are people: then the limit " +
				"is too low.",
			Pictures: drawn(func(width float64) *picture { return r.clientsPicture(in, width) })},
		{Name: "Client by client",
			Reads:    "Those refused most are at the top. Steady rows are programs; rows with gaps are mostly people.",
			Pictures: drawn(r.heatPicture), Table: r.heatTable()},
		{Name: "The same limit under each algorithm",
			Reads: "If this were the only rule. Algorithms differ in how they count around the edge of a window; " +
				"▸ marks the one of the policy.",
			Pictures: drawn(r.algorithmsPicture), Table: r.algorithmsTable()},
	}
	for i := range out {
		out[i].ID = fmt.Sprintf("%s-figure-%d", rule, i+1)
		for _, p := range out[i].Pictures {
			p.ID = out[i].ID + "-" + p.Class
		}
	}
	return out
}

func drawn(draw func(width float64) *picture) []*picture { return []*picture{draw(wide), draw(narrow)} }
