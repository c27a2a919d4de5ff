package faults_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/e2e/servers"
)

// blip is one row: a fault after which the store could decide again at once.
type blip struct {
	name        string
	fault       func(t *testing.T, r *rig)
	loses       bool // the counts are gone afterwards
	undisturbed bool // no request is left undecided
}

func TestRedisBlips(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		options
		blip
	}{
		{options{direct: true}, blip{name: "restarted on the same port", fault: restart, loses: true}},
		{options{}, blip{name: "half-closed connections", fault: halfClose}},
		{options{}, blip{name: "connections that went silent", fault: mute}},
		{options{deaf: true}, blip{name: "connections that went silent, and a client that ignores deadlines", fault: mute}},
		{options{timeout: patience}, blip{name: "FLUSHALL", fault: command("FLUSHALL"), loses: true, undisturbed: true}},
		{options{timeout: patience}, blip{name: "SCRIPT FLUSH", fault: command("SCRIPT", "FLUSH"), undisturbed: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			beside(t)
			row.run(t, startRedis(t, row.options))
		})
	}
}

func TestMemcachedBlips(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		options
		blip
	}{
		{options{direct: true}, blip{name: "restarted on the same port", fault: restart, loses: true}},
		{options{}, blip{name: "half-closed connections", fault: halfClose}},
		{options{}, blip{name: "connections that went silent", fault: mute}},
	} {
		t.Run(row.name, func(t *testing.T) {
			beside(t)
			row.run(t, startMemcached(t, row.options))
		})
	}
}

func halfClose(_ *testing.T, r *rig) { r.proxy.HalfClose() }
func mute(_ *testing.T, r *rig)      { r.proxy.Mute() }

func command(words ...any) func(*testing.T, *rig) {
	return func(t *testing.T, r *rig) { r.do(t, words...) }
}

func (b blip) run(t *testing.T, r *rig) {
	s := startService(t, r.store)
	rest := s.atRest(t, r)
	l := s.load(t)
	var ever time.Time
	l.some(t, ever, open, http.StatusOK)
	l.some(t, ever, closed, http.StatusOK)
	l.some(t, ever, local, http.StatusTooManyRequests)
	fault := time.Now()
	b.fault(t, r)
	servers.Await(t, "what was under way is over", func() bool { return time.Since(fault) > 2*timeout })
	servers.Await(t, "all is well again", func() bool { return len(s.Health()) == 0 && r.store.Healthy() })
	t.Logf("well %v after the fault, %d undecided", time.Since(fault), s.seen.undecided())
	well := time.Now()
	l.some(t, well, closed, http.StatusOK)
	l.some(t, well, local, http.StatusTooManyRequests)
	if b.loses && b.undisturbed {
		servers.Await(t, "the whole quota is there again", func() bool {
			return s.seen.of(local, httplimit.SourceStore, httplimit.ResultAllowed) >= 2*quota
		})
	}
	replies := l.end()

	s.checkReplies(t, replies)
	undecided := s.checkWell(t, replies, func(start, end time.Time) bool {
		return end.Before(fault) || start.After(well)
	})
	b.checkAdmitted(t, s, undecided)
	s.checkRest(t, r, rest)
}

func (b blip) checkAdmitted(t *testing.T, s *service, undecided int) {
	t.Helper()
	if n := s.seen.undecided(); b.undisturbed && n > 0 {
		t.Errorf("%d requests were left undecided, want none", n)
	}
	if here := s.seen.of(local, httplimit.SourceLocal, httplimit.ResultAllowed); here > share {
		t.Errorf("admitted in this process: %d, want at most its share, %d", here, share)
	}
	least, most := quota-undecided, quota
	if b.loses {
		most *= 2
	}
	if b.loses && b.undisturbed {
		least = most
	}
	if stored := s.seen.of(local, httplimit.SourceStore, httplimit.ResultAllowed); stored < least || stored > most {
		t.Errorf("admitted by the store: %d, want %d to %d", stored, least, most)
	}
}
