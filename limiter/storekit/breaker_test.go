package storekit_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter/storekit"
)

const timeout = 50 * time.Millisecond

const ms = time.Millisecond

// call makes one call that takes no time, and reports whether the breaker let it start.
func call(b *storekit.Breaker, at time.Duration, how storekit.Outcome) bool {
	p, err := b.Begin(at)
	if err != nil {
		return false
	}
	b.End(p, at, how, nil)
	return true
}

// opened returns a breaker that opened at 100 ms; the first probe is due at 200 ms.
func opened(t *testing.T) *storekit.Breaker {
	t.Helper()
	b := storekit.NewBreaker(timeout)
	for i := range 5 {
		call(b, time.Duration(i)*25*ms, storekit.Failed)
	}
	if !b.Open() {
		t.Fatal("closed after 5 failures over two time-outs, want open")
	}
	return b
}

func TestBreakerOpens(t *testing.T) {
	type end struct {
		at  time.Duration
		how storekit.Outcome
	}
	ends := func(how storekit.Outcome, at ...time.Duration) (ends []end) {
		for _, a := range at {
			ends = append(ends, end{a * ms, how})
		}
		return ends
	}
	failures := func(at ...time.Duration) []end { return ends(storekit.Failed, at...) }
	for _, tc := range []struct {
		name string
		ends []end
		want bool
	}{
		{"no calls", nil, false},
		{"four failures over a long time", failures(0, 100, 200, 300), false},
		{"five within less than two time-outs", failures(0, 1, 2, 3, 99), false},
		{"five over two time-outs", failures(0, 1, 2, 3, 100), true},
		{"many at once, then one later", failures(0, 0, 0, 0, 0, 0, 0, 100), true},
		{"a success between them",
			slices.Concat(failures(0, 50, 100, 150), ends(storekit.Succeeded, 160), failures(200, 250)), false},
		{"ended contexts are no failures", ends(storekit.Undecided, 0, 50, 100, 150, 200), false},
		{"ended contexts are no successes",
			slices.Concat(failures(0, 50), ends(storekit.Undecided, 60), failures(70, 80, 100)), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := storekit.NewBreaker(timeout)
			for _, e := range tc.ends {
				call(b, e.at, e.how)
			}
			if got := b.Open(); got != tc.want {
				t.Errorf("open: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBreakerReturnsTimeToProbe(t *testing.T) {
	b := opened(t)
	_, err := b.Begin(130 * ms)
	var unavailable *storekit.UnavailableError
	if !errors.As(err, &unavailable) || !errors.Is(err, storekit.ErrOpen) {
		t.Fatalf("got error %v, want an *UnavailableError that wraps ErrOpen", err)
	}
	if got, want := unavailable.RetryAfter, 70*ms; got != want {
		t.Errorf("RetryAfter: got %v, want %v", got, want)
	}
}

func TestBreakerProbes(t *testing.T) {
	b := opened(t)
	if call(b, 199*ms, storekit.Succeeded) {
		t.Error("a call started before the first probe was due")
	}
	probe, err := b.Begin(200 * ms)
	if err != nil {
		t.Fatalf("the first probe was refused: %v", err)
	}
	if call(b, 201*ms, storekit.Succeeded) {
		t.Error("a second call started during a probe")
	}
	b.End(probe, 210*ms, storekit.Succeeded, nil)
	if b.Open() {
		t.Error("still open after a probe that succeeded")
	}
	if !call(b, 210*ms, storekit.Failed) || b.Open() {
		t.Error("one failure after it had closed opened it again")
	}
}

func TestBreakerPausesGrowToOneSecond(t *testing.T) {
	b := opened(t)
	var got []time.Duration
	last := 100 * ms
	for now := last; len(got) < 7; now += ms {
		if call(b, now, storekit.Failed) {
			got = append(got, now-last)
			last = now
		}
	}
	want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second, time.Second}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("pauses: got %v, want %v", got, want)
		}
	}
}

func TestBreakerProbeThatLearnsNothing(t *testing.T) {
	b := opened(t)
	if !call(b, 200*ms, storekit.Undecided) {
		t.Fatal("the probe was refused")
	}
	if !b.Open() {
		t.Error("closed by a probe whose context ended")
	}
	if !call(b, 200*ms, storekit.Succeeded) {
		t.Error("no other probe may follow at once")
	}
}

func TestBreakerProbeThatNeverReports(t *testing.T) {
	b := opened(t)
	lost, err := b.Begin(200 * ms)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Begin(299 * ms); err == nil {
		t.Error("a second probe started within two time-outs of the first")
	}
	second, err := b.Begin(300 * ms)
	if err != nil {
		t.Fatalf("the lost probe wedged the breaker: %v", err)
	}
	b.End(lost, 301*ms, storekit.Undecided, nil) // late, and no longer the probe
	if _, err := b.Begin(302 * ms); err == nil {
		t.Error("a third probe started during the second")
	}
	b.End(second, 303*ms, storekit.Succeeded, nil)
	if b.Open() {
		t.Error("still open after the second probe succeeded")
	}
}

func TestBreakerLateReports(t *testing.T) {
	b := storekit.NewBreaker(timeout)
	early, _ := b.Begin(0)
	for i := range 5 {
		call(b, time.Duration(i)*25*ms, storekit.Failed)
	}
	b.End(early, 150*ms, storekit.Failed, nil)
	if _, err := b.Begin(200 * ms); err != nil {
		t.Errorf("a failure from before it opened put the probe off: %v", err)
	}
	b.End(early, 201*ms, storekit.Succeeded, nil)
	if b.Open() {
		t.Error("still open after an answer of the server")
	}
}

func TestNilBreakerNeverOpens(t *testing.T) {
	var b *storekit.Breaker
	for i := range 10 {
		if !call(b, time.Duration(i)*time.Second, storekit.Failed) {
			t.Fatal("a nil breaker refused a call")
		}
	}
	if b.Open() {
		t.Error("a nil breaker is open")
	}
}

func TestBreakerLetsOneProbeStart(t *testing.T) {
	b := opened(t)
	var wg sync.WaitGroup
	started := make(chan storekit.Permit, 64)
	for range 64 {
		wg.Go(func() {
			if p, err := b.Begin(200 * ms); err == nil {
				started <- p
			}
		})
	}
	wg.Wait()
	if got := len(started); got != 1 {
		t.Errorf("probes: got %d, want 1", got)
	}
}

func BenchmarkBreakerOpen(b *testing.B) {
	breaker := storekit.NewBreaker(timeout)
	for i := range 5 {
		call(breaker, time.Duration(i)*25*ms, storekit.Failed)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := breaker.Begin(150 * ms); err == nil {
			b.Fatal("the open breaker let a call start")
		}
	}
}

// A failure is decisive if it opens the breaker, or is that of the latest probe.
func TestBreakerTellsDecisiveFailures(t *testing.T) {
	b := storekit.NewBreaker(timeout)
	begin := func(at time.Duration, wantProbe bool) storekit.Permit {
		t.Helper()
		p, err := b.Begin(at)
		if err != nil {
			t.Fatal(err)
		}
		if p.Probe() != wantProbe {
			t.Errorf("at %v: a probe: got %v, want %v", at, p.Probe(), wantProbe)
		}
		return p
	}
	end := func(p storekit.Permit, at time.Duration, how storekit.Outcome, want bool) {
		t.Helper()
		if got := b.End(p, at, how, nil); got != want {
			t.Errorf("at %v, outcome %d: decisive: got %v, want %v", at, how, got, want)
		}
	}
	early := begin(0, false)
	for at := range 4 {
		end(begin(0, false), time.Duration(at)*25*ms, storekit.Failed, false)
	}
	end(begin(0, false), 100*ms, storekit.Failed, true) // opens
	end(early, 101*ms, storekit.Failed, false)
	lost := begin(200*ms, true)
	latest := begin(300*ms, true)
	end(lost, 301*ms, storekit.Failed, false)
	end(latest, 302*ms, storekit.Failed, true)
	end(begin(502*ms, true), 503*ms, storekit.Undecided, false)
	end(begin(503*ms, true), 504*ms, storekit.Succeeded, false)

	if b := storekit.NeverOpen(); b.End(storekit.Permit{}, 0, storekit.Failed, nil) {
		t.Error("a breaker that never opens: decisive, want not")
	}
}
