package faults_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
)

// outage is one row: a fault for the length of which the store cannot decide.
type outage struct {
	name        string
	fault, heal func(t *testing.T, r *rig)
	fromStart   bool // the fault is there before the first request
	loses       bool // the counts are gone afterwards
	refuses     bool // refusals, which only read, are decided all the same
}

// marks are the moments that part a row.
type marks struct{ fault, down, tripped, heal, well time.Time }

func (o outage) run(t *testing.T, r *rig) {
	s := startService(t, r.store)
	rest := s.atRest(t, r)
	if o.fromStart {
		o.fault(t, r)
	}
	l := s.load(t)
	at := o.phases(t, r, s, l)
	replies := l.end()

	s.checkReplies(t, replies)
	checkAway(t, replies, at)
	undecided := s.checkWell(t, replies, func(start, end time.Time) bool {
		return end.Before(at.fault) || start.After(at.well)
	})
	o.checkAdmitted(t, s, undecided)
	o.checkWaits(t, s, at)
	checkLog(t, s, replies, at)
	s.checkRest(t, r, rest)
}

// phases lets requests flow before, during and after the fault.
func (o outage) phases(t *testing.T, r *rig, s *service, l *load) (at marks) {
	t.Helper()
	if !o.fromStart {
		var ever time.Time
		l.some(t, ever, open, http.StatusOK)
		l.some(t, ever, closed, http.StatusOK)
		l.some(t, ever, local, http.StatusTooManyRequests)
		at.fault = time.Now()
		o.fault(t, r)
	}
	at.down = time.Now()
	l.some(t, at.down, open, http.StatusOK)
	l.some(t, at.down, closed, http.StatusServiceUnavailable)
	if !o.refuses {
		servers.Await(t, "the share is spent in this process", func() bool {
			return s.seen.of(local, httplimit.SourceLocal, httplimit.ResultRefused) > 0
		})
		servers.Await(t, "the breaker opens", func() bool { return !r.store.Healthy() })
	}
	at.tripped = time.Now()
	l.some(t, at.tripped, closed, http.StatusServiceUnavailable)
	at.heal = time.Now()
	o.heal(t, r)
	servers.Await(t, "all is well again", func() bool { return len(s.Health()) == 0 && r.store.Healthy() })
	at.well = time.Now()
	l.some(t, at.well, open, http.StatusOK)
	l.some(t, at.well, closed, http.StatusOK)
	l.some(t, at.well, local, http.StatusTooManyRequests)
	return at
}

// checkReplies checks what holds for every answer, in every state of the store.
func (s *service) checkReplies(t *testing.T, replies []reply) {
	t.Helper()
	most := s.longest()
	for _, r := range replies {
		if r.fault != "" {
			t.Errorf("a client saw: %s", r.fault)
		}
		if took := r.end.Sub(r.start); took > most {
			t.Errorf("%s took %v, want at most %v", r.path, took, most)
		}
	}
}

// checkAway checks what clients see of the policies while the store is away.
func checkAway(t *testing.T, replies []reply, at marks) {
	t.Helper()
	for _, r := range replies {
		switch {
		case r.start.Before(at.down) || r.end.After(at.heal):
		case r.path == closed && r.status != http.StatusServiceUnavailable:
			t.Errorf("closed while the store is away: got %d, want 503", r.status)
		case r.path == open && (r.status != http.StatusOK || r.fields):
			t.Errorf("open while the store is away: got %d, fields %v, want 200 and no fields", r.status, r.fields)
		}
	}
}

// checkWell checks that the store has decided all requests that were sent while it could, and returns how many it has
// not. A machine that halts for longer than the time-out is an outage, too: the breaker opens, and policies decide for
// a while.
func (s *service) checkWell(t *testing.T, replies []reply, well func(start, end time.Time) bool) (undecided int) {
	t.Helper()
	all, late := 0, 0
	for _, r := range replies {
		if !well(r.start, r.end) || r.path == local {
			continue
		}
		all++
		if r.status == http.StatusOK && r.fields {
			continue
		}
		undecided++
		switch took := r.end.Sub(r.start); {
		case took >= timeout:
			late++
		case !s.slowBefore(r, well):
			t.Errorf("%s while all is well: got %d, fields %v after %v, want 200 and fields",
				r.path, r.status, r.fields, took)
		}
	}
	if most := max(2*workers, all/8); late > most && s.halted() < timeout {
		t.Errorf("%d of %d requests took longer than the time-out while all was well, want at most %d", late, all, most)
	}
	return undecided
}

// slowBefore reports whether a decision took longer than the time-out while all was well, around the time of the reply:
// the breaker may be open then.
func (s *service) slowBefore(r reply, well func(start, end time.Time) bool) bool {
	const breaker = 4 * timeout // longer than its longest pause and a probe
	for _, d := range s.seen.slow(r.start.Add(-breaker), r.end.Add(timeout)) {
		if well(d.at.Add(-d.d), d.at) {
			return true
		}
	}
	return false
}

// checkAdmitted checks how often the hot client was admitted.
func (o outage) checkAdmitted(t *testing.T, s *service, undecided int) {
	t.Helper()
	here, stored := s.seen.of(local, httplimit.SourceLocal, httplimit.ResultAllowed),
		s.seen.of(local, httplimit.SourceStore, httplimit.ResultAllowed)
	if here > share || !o.refuses && here != share {
		t.Errorf("admitted in this process: %d, want its share, %d", here, share)
	}
	least, most := quota-undecided, quota
	if o.loses {
		most *= 2
	}
	if stored > most || stored < least {
		t.Errorf("admitted by the store: %d, want %d to %d", stored, least, most)
	}
}

// checkWaits checks that no request waits for a server that is known to be down. One that still decides refusals is
// not: each refusal closes the breaker, and a write is tried again for half of the time-out.
func (o outage) checkWaits(t *testing.T, s *service, at marks) {
	t.Helper()
	most := s.longest()
	for _, d := range s.seen.between(time.Time{}, time.Now()) {
		if d > most {
			t.Errorf("the store took %v, want at most %v", d, most)
		}
	}
	if o.refuses {
		return
	}
	waits := s.seen.between(at.tripped, at.heal)
	slices.Sort(waits)
	if median := waits[len(waits)/2]; median > timeout/20 {
		t.Errorf("a request waits %v for a store that is known to be down, want next to nothing", median)
	}
}

// checkLog checks that there is one line for each change of state. Each answer that came late while the store was there
// may be two more changes.
func checkLog(t *testing.T, s *service, replies []reply, at marks) {
	t.Helper()
	most := 2
	for _, r := range replies {
		if (r.start.Before(at.fault) || r.end.After(at.heal)) && r.end.Sub(r.start) >= timeout {
			most += 2
		}
	}
	for rule, policy := range map[string]httplimit.FailurePolicy{open: httplimit.FailOpen, closed: httplimit.FailClosed} {
		lines := s.log.about(rule)
		for i, line := range lines {
			want := []string{"cannot decide", "decides again"}[i%2]
			if !strings.Contains(line, want) || !strings.Contains(line, "policy="+policy.String()) {
				t.Errorf("line %d of rule %s: got %q, want one that it %s by policy %v", i+1, rule, line, want, policy)
			}
		}
		if len(lines) < 2 || len(lines) > most {
			t.Errorf("the log of rule %s: got %q, want one line as it fails and one as it is well", rule, lines)
		}
	}
}
