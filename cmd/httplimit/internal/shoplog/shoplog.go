// Package shoplog makes up one day of a shop's access log, always the same: people who browse, an office behind one
// address, crawlers, a scraper, a monitor, and somebody who tries passwords at night. docs/planning.md is about it.
package shoplog

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// Day is when the log begins. It ends 24 hours later.
var Day = time.Date(2026, time.March, 3, 0, 0, 0, 0, time.UTC)

// Write writes the log in the combined format, in the order of its times.
func Write(w io.Writer) error {
	s := &shop{rng: rand.New(rand.NewPCG(2026, 3))}
	s.people(1400)
	s.office(110)
	s.crawlers()
	s.scraper()
	s.monitor()
	s.passwords()
	slices.SortStableFunc(s.requests, func(a, b request) int { return a.at - b.at })
	out := bufio.NewWriter(w)
	for _, r := range s.requests {
		at := Day.Add(time.Duration(r.at) * time.Second).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(out, "%s - - [%s] \"%s %s HTTP/1.1\" %d %d \"-\" %q\n",
			r.client, at, r.method, r.path, r.status, r.size, r.agent)
	}
	return out.Flush()
}

const day = 24 * 60 * 60 // in seconds

type request struct {
	at, status, size            int
	client, method, path, agent string
}

type shop struct {
	rng      *rand.Rand
	requests []request
}

func (s *shop) add(at int, r request) {
	if at < 0 || at >= day {
		return
	}
	if r.method == "" {
		r.method = "GET"
	}
	if r.status == 0 {
		r.status = 200
	}
	if r.agent == "" {
		r.agent = "-"
	}
	r.at, r.size = at, 200+s.rng.IntN(9000)
	s.requests = append(s.requests, r)
}

var browsers = []string{
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36",
	"Mozilla/5.0 (X11; Linux x86_64; rv:149.0) Gecko/20100101 Firefox/149.0",
	"Mozilla/5.0 (iPhone; CPU iPhone OS 26_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Safari/604.1",
}

// people come mostly in the evening, look at a few pages, and search.
func (s *shop) people(n int) {
	for i := range n {
		who := request{client: fmt.Sprintf("198.51.%d.%d", 100+i/250, 1+i%250), agent: browsers[i%3]}
		for range 1 + s.rng.IntN(2) {
			s.visit(who, int((19.5+3.2*s.rng.NormFloat64())*3600), 2+s.rng.IntN(7))
		}
	}
}

// visit is a stay on the site: each page asks for a few things at once, and some type a search letter by letter.
func (s *shop) visit(who request, at, pages int) {
	if s.rng.IntN(4) == 0 {
		s.login(who, at)
	}
	for range pages {
		at += 4 + int(25*s.rng.ExpFloat64())
		who.path = fmt.Sprintf("/products/%d", s.rng.IntN(400))
		s.add(at, who)
		for range 2 + s.rng.IntN(5) {
			who.path = fmt.Sprintf("/api/%s", []string{"cart", "prices", "reviews", "similar"}[s.rng.IntN(4)])
			s.add(at+s.rng.IntN(2), who)
		}
		if s.rng.IntN(5) == 0 {
			for letter := range 3 + s.rng.IntN(7) {
				who.path = "/search?q=" + "floor-lamp"[:letter+1]
				s.add(at+2+letter/2, who)
			}
		}
	}
}

// login fails now and then, and is tried again.
func (s *shop) login(who request, at int) {
	who.method, who.path = "POST", "/login"
	for tries := 0; tries < 4 && s.rng.IntN(6) == 0; tries++ {
		who.status = 401
		s.add(at, who)
		at += 6 + s.rng.IntN(10)
	}
	who.status = 303
	s.add(at, who)
}

// office is many people behind one address, in working hours.
func (s *shop) office(n int) {
	for i := range n {
		who := request{client: "203.0.113.20", agent: browsers[i%3]}
		for range 4 {
			s.visit(who, 9*3600+s.rng.IntN(8*3600), 3+s.rng.IntN(6))
		}
	}
}

// crawlers say who they are. One is slow, one asks for twelve pages at a time.
func (s *shop) crawlers() {
	slow := request{client: "192.0.2.17", agent: "examplebot/2.1 (+https://bot.example/)", path: "/robots.txt"}
	s.add(60, slow)
	for at := 90; at < day; at += 8 + s.rng.IntN(12) {
		slow.path = fmt.Sprintf("/products/%d", s.rng.IntN(400))
		s.add(at, slow)
	}
	fast := request{client: "192.0.2.90", agent: "shopcrawler/0.9"}
	for at := 4 * 3600; at < 9*3600; at += 25 + s.rng.IntN(10) {
		for range 12 {
			fast.path = fmt.Sprintf("/products/%d?page=%d", s.rng.IntN(400), s.rng.IntN(9))
			s.add(at+s.rng.IntN(4), fast)
		}
	}
}

// scraper copies the prices, says that it is a browser, and never pauses.
func (s *shop) scraper() {
	who := request{client: "203.0.113.77", agent: browsers[0]}
	for at := 10*3600 + 1200; at < 14*3600; at++ {
		who.path = fmt.Sprintf("/search?q=%d&page=1", at%997)
		s.add(at, who)
	}
}

// monitor looks every 30 seconds whether the shop is there.
func (s *shop) monitor() {
	for at := 7; at < day; at += 30 {
		s.add(at, request{client: "192.0.2.5", path: "/healthz"})
	}
}

// passwords are tried from a few addresses at night.
func (s *shop) passwords() {
	for i := range 9 {
		who := request{client: fmt.Sprintf("203.0.113.%d", 200+i), agent: browsers[1], method: "POST", path: "/login"}
		who.status = 401
		for at := 2*3600 + 300*i; at < 4*3600+300*i; at += 5 + s.rng.IntN(15) {
			s.add(at, who)
		}
	}
}
