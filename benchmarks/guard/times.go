package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/httplimit/httplimit/benchmarks/web"
	"github.com/httplimit/httplimit/benchmarks/workload"
)

// contest is a hot path beside the same work done plainly. Both are measured alternately, so that other load on the
// machine slows both.
type contest struct {
	name  string
	most  float64 // how many times the plain one's time it may take
	path  func() (operation, error)
	plain func() (operation, error)
}

// contests allow two to three times the figures of a quiet machine: the guard is for paths that became several times
// slower, by a lock, a scan or a copy that is not meant to be there.
func contests() []contest {
	return []contest{
		{"memory: Take, allowed", 2.5, takeOne(plenty), plainTake},
		{"memory: Take, refused", 2.5, takeOne(1), plainTake},
		{"memory: Limiter.Allow", 2, allow, plainTake},
		{"memory: Take, new key", 2.5, takeNew, plainNew},
		{"memory: Take of three charges", 10, takeThree, plainTake},
		{"net-http: key=address, allowed", 1.5, serve("net-http", web.Address, plenty), plainServe},
		{"net-http: key=address, refused", 2, serve("net-http", web.Address, 1), plainServe},
		{"net-http: key=address-hmac, allowed", 3, serve("net-http", web.AddressHMAC, plenty), plainServe},
		{"net-http: three rules", 4.5, serveRules(nil), plainServe},
		{"net-http: three rules, Observer", 1.6, serveRules(observe), serveRules(nil)},
		{"gin: key=address, allowed", 2, serve("gin", web.Address, plenty), plainServe},
		{"echo: key=address, allowed", 2, serve("echo", web.Address, plenty), plainServe},
		{"fiber: key=address, allowed", 3, serve("fiber", web.Address, plenty), plainServe},
	}
}

func checkTimes() error {
	var faults []error
	for _, c := range contests() {
		ratio, err := c.measure()
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", c.name, err))
			continue
		}
		fmt.Printf("%-56s %6.2f times the plain one, at most %g\n", c.name, ratio, c.most)
		faults = append(faults, c.judge(ratio))
	}
	return errors.Join(faults...)
}

func (c contest) judge(ratio float64) error {
	if ratio > c.most {
		return fmt.Errorf("%s: it takes %.2f times the plain one's time, want at most %g", c.name, ratio, c.most)
	}
	return nil
}

// measure takes the shortest of many short rounds of each, which is the one that was disturbed least. If that is too
// long there are more rounds: a machine may be busy for seconds.
func (c contest) measure() (float64, error) {
	path, err := c.path()
	if err != nil {
		return 0, err
	}
	plain, err := c.plain()
	if err != nil {
		return 0, err
	}
	const atLeast, atMost = 50, 1000
	ratio, best, base := 0., time.Duration(1<<62), time.Duration(1<<62)
	for round := 0; round < atLeast || round < atMost && ratio > c.most; round++ {
		took, err := run(path)
		if err != nil {
			return 0, err
		}
		best = min(best, took)
		if took, err = run(plain); err != nil {
			return 0, err
		}
		base = min(base, took)
		ratio = float64(best) / float64(base)
	}
	return ratio, nil
}

// run is one round: well below the time after which the scheduler preempts a goroutine.
func run(op operation) (time.Duration, error) {
	began := time.Now()
	for range 1000 {
		if err := op(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// plainTake is a fixed window as one writes it: a clock, a lock and a map.
func plainTake() (operation, error) {
	p := plain{counts: make(map[string]*window)}
	return func() error {
		_, _ = p.take("192.0.2.1")
		return nil
	}, nil
}

// plainNew is the same for a new key each time.
func plainNew() (operation, error) {
	keys, next := workload.Addresses(newKeys), 0
	var p plain
	return func() error {
		if next%newKeys == 0 {
			p.counts = make(map[string]*window)
		}
		_, _ = p.take(keys[next%newKeys])
		next++
		return nil
	}, nil
}

type plain struct {
	mu     sync.Mutex
	counts map[string]*window
}

type window struct {
	began time.Time
	count int
}

func (p *plain) take(key string) (remaining int, reset time.Duration) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.counts[key]
	if w == nil || now.Sub(w.began) >= time.Minute {
		w = &window{began: now}
		p.counts[key] = w
	}
	w.count++
	return plenty - w.count, w.began.Add(time.Minute).Sub(now)
}

// plainServe is middleware as one writes it: an address, a fixed window and two fields.
func plainServe() (operation, error) {
	p := plain{counts: make(map[string]*window)}
	w, remote := &answer{header: make(http.Header)}, "192.0.2.1:1234"
	return func() error {
		clear(w.header)
		host, _, err := net.SplitHostPort(remote)
		if err != nil {
			return err
		}
		remaining, reset := p.take(host)
		w.Header().Set("X-RateLimit-Limit", strconv.Itoa(plenty))
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
		w.Header().Set("X-RateLimit-Reset", strconv.Itoa(int(reset.Seconds())))
		w.WriteHeader(http.StatusOK)
		return same(w.status, http.StatusOK)
	}, nil
}
