package replay

import (
	"math"
	"strings"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// conduct is how a client behaves, as far as that tells people from programs. It is a guess, never more: a program can
// do as people do.
type conduct struct {
	requests, clientErrors, declared, noAgent uint32
	robots                                    bool
	lastAt                                    int64
	// mean, and sum of squared distances from it (Welford's method), in ms
	meanGap, spreadGap float64
}

// The signs of a program, in the order in which they are looked for.
const (
	signDeclares = "declares itself"
	signNoAgent  = "no user agent"
	signRobots   = "asked for robots.txt"
	signErrors   = "over half 4xx"
	signEvenGaps = "even gaps"
)

var signs = []string{signDeclares, signNoAgent, signRobots, signErrors, signEvenGaps}

const (
	// minForErrors is how many requests make a share of errors mean something: one wrong link is none.
	minForErrors = 5
	// minForGaps is how many requests make the evenness of their gaps mean something.
	minForGaps = 10
	// evenGaps is the coefficient of variation under which gaps are even. People's is over 1.
	evenGaps = 0.3
)

// see notes a request. declares says that its agent says to be a program.
func (c *conduct) see(e *accesslog.Entry, declares bool) {
	if c.requests > 0 {
		gap := float64(e.At - c.lastAt)
		before := gap - c.meanGap
		c.meanGap += before / float64(c.requests)
		c.spreadGap += before * (gap - c.meanGap)
	}
	c.lastAt = e.At
	c.requests++
	if e.Status >= 400 && e.Status < 500 && e.Status != 429 { // 429 is what limits make of people, too
		c.clientErrors++
	}
	if declares {
		c.declared++
	}
	if e.Agent == "" {
		c.noAgent++
	}
	c.robots = c.robots || e.Path() == "/robots.txt"
}

// sign returns the first sign of a program; "" for people. agents says that the log tells agents at all.
func (c *conduct) sign(agents bool) string {
	switch half := c.requests / 2; {
	case c.declared > half:
		return signDeclares
	case agents && c.noAgent > half:
		return signNoAgent
	case c.robots:
		return signRobots
	case c.requests >= minForErrors && c.clientErrors > half:
		return signErrors
	case c.even():
		return signEvenGaps
	}
	return ""
}

func (c *conduct) even() bool {
	if c.requests < minForGaps || c.meanGap <= 0 {
		return false
	}
	return math.Sqrt(c.spreadGap/float64(c.requests-1)) < evenGaps*c.meanGap
}

// agents remembers what it has found out of user agents, as the same ones come again and again.
type agents map[string]bool

// maxAgents bounds what is remembered. Browsers are some thousands; invented agents are without end.
const maxAgents = 10_000

// declares reports whether an agent says to be a program.
func (a agents) declares(agent string) bool {
	known, ok := a[agent]
	if ok {
		return known
	}
	if len(a) >= maxAgents {
		clear(a)
	}
	known = declaresProgram(agent)
	a[strings.Clone(agent)] = known
	return known
}

// programWords stand in the agents of programs that say what they are.
var programWords = []string{"bot", "crawl", "spider", "slurp", "+http", "curl/", "wget/", "python", "go-http-client",
	"java/", "apache-httpclient", "libwww", "scrapy", "headless", "phantomjs", "monitor", "uptime", "pingdom", "probe",
	"healthcheck", "scan", "nikto", "nmap", "zgrab", "httpx", "fetch", "feed", "axios", "guzzle", "node", "ruby", "perl",
	"postman", "facebookexternalhit", "preview", "archiver", "validator", "lighthouse"}

func declaresProgram(agent string) bool {
	agent = strings.ToLower(agent)
	for _, word := range programWords {
		if strings.Contains(strings.ReplaceAll(agent, "cubot", ""), word) { // a make of telephones
			return true
		}
	}
	return false
}
