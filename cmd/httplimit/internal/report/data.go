// Package report says what a policy would have done to a log: as a table for a terminal, as JSON for programs, and as
// one HTML file with pictures for people. It draws what stands in a [Data] and decides nothing; the replay fills it.
//
// Texts in a Data are untrusted: user agents, paths and keys are whatever clients sent. Every form escapes them.
package report

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// Data is everything that a report tells. Its zero value is a valid report of nothing. Whoever fills it has already
// replaced what must not be told (-anonymize).
type Data struct {
	Tool       string    // version of the command; "" leaves it out
	Policy     string    // name of the policy's file
	Made       time.Time // when the report was made; zero leaves it out
	Anonymized bool      // keys, addresses, users and queries were replaced
	Input      Input
	// Refused and ClientsRefused count what the policy as a whole would have refused: a request that two rules refuse
	// counts once. Clients are told apart as in Input.Clients.
	Refused, ClientsRefused int64
	Rules                   []Rule // in the order of the policy
}

// Input is what was read.
type Input struct {
	Files   []string // names, as on the command line; "-" is standard input
	Lines   int64    // read
	Parsed  int64    // understood
	Bad     int64    // not understood
	Outside int64    // understood and left out: outside -from and -to, or of a time too far behind (-max-reorder)
	// FirstBad shows the first line that was not understood, with its place and the reason, as one line of text.
	FirstBad string
	Format   string    // as -format takes it
	From, To time.Time // of the first and the last parsed line; the report writes them in UTC
	Clients  int64     // addresses, or what stands for one
	People   int64     // of Clients: those that no sign of a bot was found of
	// Bots tells the other clients by the first sign that gave them away, most clients first.
	Bots []Sign
	// Warnings are whole sentences: what makes the figures less sure, and what to do about it.
	Warnings []string
}

// Replayed is how many requests were replayed.
func (in Input) Replayed() int64 { return in.Parsed - in.Outside }

// Sign is one reason for which clients were classed as bots.
type Sign struct {
	Why               string // "declares itself", "no user agent", "asked for robots.txt", "over half 4xx", "even gaps"
	Clients, Requests int64
}

// Rule is what one rule would have done.
type Rule struct {
	Name  string
	Key   string // as in the policy: "ip", "ip + header:X-User"
	When  string // as in the policy, alternatives joined by ", "; "" means every request
	Limit limiter.Limit
	// LeftOut is why the rule was not replayed, as a sentence. Then only Name, Key, When and Limit are set.
	LeftOut string
	// Notes say in whole sentences how the replay of this rule differs from production: plans, percent, bans, failures.
	Notes []string

	// Total, People and Bots count the rule's own verdicts, when all rules were asked together, as in production.
	// Total is the sum of the two.
	Total, People, Bots Counts

	Timeline Timeline
	// Windows tell how clients behaved within windows of several lengths. The first is the rule's own window, others
	// follow with growing length.
	Windows []Window
	// MostRefused are the clients with the most refusals, most first; those without any are left out.
	MostRefused []Client
	Heat        Heat
	// Algorithms replays the rule alone with the same requests per window under every algorithm.
	Algorithms []Outcome
}

// Counts is what a rule saw of a class of clients. A client is one key of the rule.
type Counts struct {
	Requests, Refused       int64
	Clients, ClientsRefused int64
}

// Timeline counts requests over time. Passed and Refused have the same length.
type Timeline struct {
	Start           time.Time
	Step            time.Duration // a minute, or whole minutes where the log is long; drawn coarser where it has to be
	Passed, Refused []int64
}

// Window is how the clients of a rule behaved within windows of one length, aligned as in production.
type Window struct {
	Length time.Duration
	// People and Bots are the distributions of the clients' peaks, by ascending Units: how many clients asked for that
	// many units in the window in which they asked for most. They count what was asked for, also what was refused.
	People, Bots []Peak
	// Curve says by ascending Requests what the rule alone would have refused with other limits over this window. It has
	// the numbers 1, 2, 5, 10, 20, 50 … until nothing is refused, and the rule's own. It may be empty: not replayed.
	Curve []Point
}

// Peak is how many clients had their busiest window with so many units.
type Peak struct{ Units, Clients int64 }

// Point is what a limit of so many units per window would have refused.
type Point struct {
	Requests     int64 // the limit's
	People, Bots Counts
}

// Client is one of those who were refused most.
type Client struct {
	Key         string
	Bot         bool
	Why         string // a bot's sign, as in Sign.Why; "" of people
	Agent       string // the user agent it sent most lately; "" for none
	Requests    int64
	Refused     int64
	First, Last time.Time // of its refused requests
	Paths       []string  // some of those refused, most frequent first
}

// Heat is the requests of the busiest clients over time: up to 40, those refused most first, then those that asked
// most.
type Heat struct {
	Start time.Time
	Step  time.Duration
	Rows  []HeatRow
}

// HeatRow is one client's. Passed and Refused have one number a Step, all rows equally many, at most 120.
type HeatRow struct {
	Key             string
	Bot             bool
	Passed, Refused []int64
}

// Outcome is what the rule alone would have done under one algorithm.
type Outcome struct {
	Algorithm               limiter.Algorithm
	LeftOut                 string // why there is nothing: "keeps at most 100,000 requests"; then all else is zero
	Refused, ClientsRefused int64
	// MostAdmitted is the most units that any one client was admitted within any stretch of one window's length.
	MostAdmitted int64
	// Waits are what Retry-After told the refused: their median, 90th and 99th percentile, and the longest. Never for
	// what would never pass.
	Wait50, Wait90, Wait99, WaitMax time.Duration
}
