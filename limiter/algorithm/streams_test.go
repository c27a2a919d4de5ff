package algorithm_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

var streams = flag.Int("streams", defaultStreams, "how many streams TestStrictStreams takes")

// TestStrictStreams compares streams of charges with an exact log of all that they were admitted: StrictWindow admits
// never more than the limit over any stretch of one window, decides as its definition says, its waits are exact both
// ways, and a refund frees exactly the part that it names.
func TestStrictStreams(t *testing.T) {
	total, workers := *streams, runtime.GOMAXPROCS(0)
	if testing.Short() {
		total = min(total, 10_000)
	}
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for seed := worker; seed < total && !t.Failed(); seed += workers {
				s := newStrictStream(t, uint64(seed))
				for range 24 {
					s.step()
				}
			}
		})
	}
	all.Wait()
}

// strictStream is one client of a StrictWindow, beside an exact log of what it has been admitted.
type strictStream struct {
	t      *testing.T
	random *rand.Rand
	seed   uint64
	limit  limiter.Limit
	window int64
	length int64 // of a part
	now    int64
	parts  algorithm.Parts
	log    []admitted // oldest first, nothing older than two windows
	retry  int64      // the latest RetryAfter in milliseconds
	greedy bool       // takes all that is left, as often as it can
}

type admitted struct{ at, units int64 }

func newStrictStream(t *testing.T, seed uint64) *strictStream {
	random := rand.New(rand.NewPCG(seed, 15))
	s := &strictStream{t: t, random: random, seed: seed, greedy: random.IntN(3) == 0}
	switch random.IntN(4) {
	case 0:
		s.window = 1 + random.Int64N(30)
	case 1:
		s.window = []int64{1000, 1009, 7000, 60_000, 60_007, 3_600_000, 86_400_000}[random.IntN(7)]
	default:
		s.window = 1 + random.Int64N(1+random.Int64N(int64(year/time.Millisecond)))
	}
	requests := []int64{1, 2, 3, 5, 10, 10, 47, 1000, 1_000_000_000}[random.IntN(9)]
	s.limit = strict(requests, time.Duration(s.window)*time.Millisecond)
	s.length, _ = algorithm.PartsOf(s.limit.Window)
	s.now = noon + random.Int64N(2*s.window)
	return s
}

// step waits for some time, and then takes some units or gives some back.
func (s *strictStream) step() {
	s.now += s.pause()
	for len(s.log) > 0 && s.log[0].at <= s.now-2*s.window {
		s.log = s.log[1:]
	}
	if len(s.log) > 0 && s.random.IntN(8) == 0 {
		s.refund()
		return
	}
	c := limiter.Charge{Limit: s.limit, Cost: 1}
	switch s.random.IntN(6) {
	case 0:
		c.Cost = 1 + s.random.Int64N(s.limit.Requests)
	case 1:
		c.Cost = s.limit.Requests
	}
	if left := s.limit.Requests - s.counted(s.now); left > 0 && (s.greedy || s.random.IntN(3) == 0) {
		c.Cost = left
	}
	s.take(c)
}

// pause returns a time at which something is likely to be wrong: at a boundary or beside it, when a wait is over, or
// after any time up to two windows.
func (s *strictStream) pause() int64 {
	if s.greedy && s.retry > 0 {
		return s.retry
	}
	part, window := s.length-s.now%s.length, s.window-s.now%s.window
	ms := []int64{
		0, 1, part, part + s.window/2/s.length*s.length, window, s.window, s.retry, s.random.Int64N(1 + s.length),
		s.random.Int64N(2 * s.window),
	}[s.random.IntN(9)]
	return max(0, ms+[]int64{0, 0, -1, 1}[s.random.IntN(4)])
}

// counted is the definition: what was taken in the part of that moment, and in as many before it as cover a window.
func (s *strictStream) counted(at int64) (units int64) {
	start := at - at%s.length
	for at-at%s.length-start < s.window {
		start -= s.length
	}
	for _, a := range s.log {
		if a.at >= start {
			units += a.units
		}
	}
	return units
}

func (s *strictStream) fits(at, cost int64) bool { return s.counted(at)+cost <= s.limit.Requests }

func (s *strictStream) take(c limiter.Charge) {
	before := s.counted(s.now)
	u := strictUsage(s.limit, s.now, &s.parts)
	fits := u.Judge(&c)
	if fits {
		s.parts.Counts[0] += u.Spent
		s.log = append(s.log, admitted{s.now, c.Cost})
	}
	s.wantParts("a charge")
	after := s.counted(s.now)
	if fits != (before+c.Cost <= s.limit.Requests) || c.Allowed != fits || c.Current != before || c.Previous != 0 ||
		c.Remaining != s.limit.Requests-after {
		s.fail("cost %d, with %d units counted: %+v", c.Cost, before, c)
	}
	if s.within() > s.limit.Requests {
		s.fail("%d units admitted within one window", s.within())
	}
	s.retry = c.RetryAfter.Milliseconds()
	if fits && s.retry != 0 || !fits && (!s.fits(s.now+s.retry, c.Cost) || s.fits(s.now+s.retry-1, c.Cost)) {
		s.fail("cost %d: retry after %d ms: %+v", c.Cost, s.retry, c)
	}
	reset := s.now + c.ResetAfter.Milliseconds()
	if s.counted(reset) != 0 || reset > s.now && s.counted(reset-1) == 0 {
		s.fail("cost %d: reset after %v", c.Cost, c.ResetAfter)
	}
}

// within returns the units in the stretch of one window that ends now, both its ends included.
func (s *strictStream) within() (units int64) {
	for _, a := range s.log {
		if a.at >= s.now-s.window {
			units += a.units
		}
	}
	return units
}

// refund gives back some of what was admitted at one moment, or more than that.
func (s *strictStream) refund() {
	of := s.log[s.random.IntN(len(s.log))]
	c := limiter.Charge{Limit: s.limit, Cost: -1 - s.random.Int64N(of.units+1), State: limiter.State{At: of.at}}
	u := strictUsage(s.limit, s.now, &s.parts)
	if !u.Judge(&c) {
		s.fail("a refund does not fit: %+v", c)
	}
	back := -c.Cost
	for i := range s.log {
		if a := &s.log[i]; a.at/s.length == of.at/s.length {
			given := min(back, a.units)
			a.units -= given
			back -= given
		}
	}
	s.wantParts("a refund")
}

// wantParts compares each part with the log.
func (s *strictStream) wantParts(after string) {
	var want algorithm.Parts
	for _, a := range s.log {
		if ago := s.now/s.length - a.at/s.length; ago == 0 || (ago-1)*s.length < s.window {
			want.Counts[ago] += a.units
		}
	}
	if s.parts.Counts != want.Counts {
		s.fail("after %s the parts hold %v, want %v", after, s.parts.Counts, want.Counts)
	}
}

func (s *strictStream) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("stream %d of %v, at %d: "+format, append([]any{s.seed, s.limit, s.now}, args...)...)
}

// A client that always asks is admitted at least W/((m+1)P) of its limit less one in each window, in the long run:
// whether it asks for one unit or for all, at every moment or just as often as the limit says.
func TestStrictSustained(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 15))
	for i := range 2_000 {
		window := 1 + random.Int64N(1+random.Int64N(int64(year/time.Millisecond)))
		if i%4 == 0 {
			window = 1 + random.Int64N(2000)
		}
		l := strict(1+random.Int64N(60), time.Duration(window)*time.Millisecond)
		length, before := algorithm.PartsOf(l.Window)
		const windows = 20
		for name, next := range map[string]func(c *limiter.Charge, n int64) (wait int64){
			"all at once": func(c *limiter.Charge, _ int64) int64 {
				if c.Allowed {
					c.Cost = max(1, c.Remaining)
				}
				return c.RetryAfter.Milliseconds()
			},
			"one by one": func(c *limiter.Charge, _ int64) int64 { return c.RetryAfter.Milliseconds() },
			"evenly": func(_ *limiter.Charge, n int64) int64 {
				return (n+1)*window/l.Requests - n*window/l.Requests
			},
		} {
			var parts algorithm.Parts
			start := noon + random.Int64N(window)
			c := limiter.Charge{Limit: l, Cost: 1}
			var got int64
			for now, n := start, int64(0); now < start+windows*window && n < 10_000; n++ {
				u := strictUsage(l, now, &parts)
				if u.Judge(&c) {
					parts.Counts[0] += u.Spent
					got += u.Spent
				}
				now += next(&c, n)
			}
			// got/windows >= Requests x W/((m+1)P) - 1
			if period := (before + 1) * length; (got+windows)*period < windows*l.Requests*window {
				t.Errorf("%v asked for %s: %d units in %d windows, want %d/%d of the limit less one in each", l, name, got,
					windows, window, period)
			}
		}
	}
}
