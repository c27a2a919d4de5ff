package frameworks_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit"
)

// scenario is a row of the table: an app, requests to it, and what comes of them.
type scenario struct {
	name            string
	around, onRoute []httplimit.Config // their Store and Logger are filled in
	item            handler            // nil: byID
	events          func(ctx context.Context, send func(string))
	deny            bool         // see app
	errorStatus     int          // see app
	shutDown        bool         // the context from which those of requests are made has ended
	canceled        bool         // a layer outside has ended the request's context
	streamBodies    bool         // see app
	download        http.Handler // see app
	network         string       // see listen; "": tcp4
	leaves          moment       // at which the client leaves; only for one request
	down            bool         // the store cannot decide
	masked          bool         // times are those of the real clock, and left out
	observed        bool         // the script has what an Observer is told

	// script holds the requests and, below each, what it leads to: what the store is asked, what the Observer is told,
	// with which statuses CountStatus is called, the answer and its fields.
	//
	//	GET /items/7
	//	> X-Forwarded-For: 192.0.2.7
	//	take /ip 192.0.2.7 1
	//	200 item 7
	//	RateLimit: "ip";r=1;t=3601
	script string
}

type moment int

const (
	afterwards moment = iota
	whileDeciding
	whileHandling
)

func TestSameAnswersEverywhere(t *testing.T) {
	all := slices.Concat(decisions(), answers(), applying(), identities(), statuses(), endings(), outages(), zeroes(),
		quotas(), observing())
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			for _, f := range frameworks() {
				t.Run(f.name, func(t *testing.T) { s.run(t, f) })
			}
		})
	}
	for _, e := range exceptions() {
		if !slices.ContainsFunc(append(all, events()), func(s scenario) bool { return s.name == e.scenario }) {
			t.Errorf("there is an exception for %q, but no such scenario", e.scenario)
		}
	}
}

// run plays the script and compares what comes of it.
func (s scenario) run(t *testing.T, f framework) {
	want := trimmed(s.script)
	stage := s.open(t, f)
	var got []string
	for _, block := range requests(want) {
		got = append(got, block...)
		got = append(got, stage.play(t, block)...)
	}
	want = excepted(t, f, s.name, want)
	if text, wanted := strings.Join(got, "\n"), strings.Join(want, "\n"); text != wanted {
		t.Errorf("got\n%s\n\nwant\n%s", text, wanted)
	}
}

// trimmed returns the lines of a script.
func trimmed(script string) []string {
	var lines []string
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

var requestLine = regexp.MustCompile(`^[A-Z]+ /`)

// requests returns the lines of each request: the first one and its header.
func requests(script []string) [][]string {
	var blocks [][]string
	for _, line := range script {
		if requestLine.MatchString(line) {
			blocks = append(blocks, []string{line})
		}
		if strings.HasPrefix(line, "> ") {
			last := len(blocks) - 1
			blocks[last] = append(blocks[last], line)
		}
	}
	return blocks
}
