package httplimit

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

// declareLimits checks the limits that the configuration names and adds their windows. It keeps copies of them.
func (r *rule) declareLimits(field string, f *faults) {
	r.Plans = slices.Clone(r.Plans)
	if r.InFlight {
		r.declareInFlight(field, f)
	}
	r.declare(r.Limit, field+".Limit", f)
	for i, plan := range r.Plans {
		r.declare(plan, fmt.Sprintf("%s.Plans[%d]", field, i), f)
	}
}

func (r *rule) declare(l limiter.Limit, field string, f *faults) {
	err := r.check(l)
	if err == nil {
		err = r.windows.all.add(l)
	}
	if err != nil {
		f.add(field, "%v", err)
		return
	}
	r.windows.publish(l)
}

// check returns an error if l is not valid or the store cannot run it.
func (r *rule) check(l limiter.Limit) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if r.checker != nil {
		return r.log.checkLimit(r.checker, l)
	}
	return nil
}

// limitFor returns the limit of a request by a rule with a LimitFunc.
func (r *rule) limitFor(req Request, log *logger) (l limiter.Limit, applies bool) {
	l, applies, err := r.chosenLimit(req, r.count)
	if err != nil {
		log.warnOnce(r.Name, "LimitFunc failed, the rule's Limit holds", err)
	}
	return l, applies
}

// limitToPeek returns the limit of a request that counts nothing: nobody is warned, and no window is taken.
func (r *rule) limitToPeek(req Request) (l limiter.Limit, applies bool) {
	if r.LimitFunc == nil {
		return r.Limit, true
	}
	l, applies, _ = r.chosenLimit(req, r.windows.all.admit)
	return l, applies
}

// chosenLimit returns the limit that LimitFunc chooses. admit is as for replacement. err says why it is the rule's own
// all the same.
func (r *rule) chosenLimit(
	req Request, admit func(limiter.Limit) error,
) (l limiter.Limit, applies bool, err error) {
	l, err = r.LimitFunc(req.HTTP())
	if errors.Is(err, ErrSkip) {
		return l, false, nil
	}
	if err == nil && l != r.Limit {
		l, err = r.replacement(l, admit)
	}
	if err != nil {
		return r.Limit, true, err
	}
	return l, true, nil
}

// replacement returns l, which is to replace Limit, or an error if it cannot. admit is asked about a window that is not
// Limit's.
func (r *rule) replacement(l limiter.Limit, admit func(limiter.Limit) error) (limiter.Limit, error) {
	err := r.check(l)
	if r.InFlight && l.Validate() == nil {
		l = r.placesOf(l)
		err = r.check(l)
	}
	if err == nil && !l.SameWindow(&r.Limit) {
		err = admit(l)
	}
	if err != nil && l.Requests == 0 && l.Validate() == nil {
		// It refuses and counts nothing. That the store cannot count so is no reason to let through who is suspended.
		l.Algorithm, l.Window, err = r.Limit.Algorithm, r.Limit.Window, nil
	}
	return l, err
}

// count takes the window of a limit that LimitFunc has returned, and notes it for Reset. Mostly it is known, which
// costs no lock.
func (r *rule) count(l limiter.Limit) error {
	if r.windows.has(l) {
		return nil
	}
	if err := r.windows.all.add(l); err != nil {
		return err
	}
	r.state.seen.note(l) // first, so that Reset misses nobody who is counted so
	r.windows.publish(l)
	return nil
}

// retire notes the limits of a rule whose configuration is replaced: clients may have counters of all of them.
func (r *rule) retire() {
	for _, plan := range r.Plans {
		r.state.seen.note(plan)
	}
	r.state.seen.note(r.Limit)
}

// counters returns one limit for each counter that a client may have under the rule: of Limit, of Plans, and of what
// LimitFunc has returned in this process. What held before a Reconfigure is among them.
func (r *rule) counters() []limiter.Limit {
	all := []limiter.Limit{r.Limit}
	for _, l := range slices.Concat(r.Plans, r.state.seen.list()) {
		// What was seen may be of an algorithm that the present store does not have.
		if !slices.ContainsFunc(all, func(other limiter.Limit) bool { return other.SameWindow(&l) }) && r.check(l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// window is what a counter is told apart by, beside its scope and key.
type window struct {
	algorithm limiter.Algorithm
	length    time.Duration
}

func windowOf(l limiter.Limit) window { return window{l.Algorithm, l.Window} }

// maxWindows bounds what a LimitFunc can make a store keep: each pair of Algorithm and Window has counters of its own.
const maxWindows = 64

// windowSet holds the windows in which one configuration counts. Safe for concurrent use.
type windowSet struct {
	mu    sync.Mutex
	known map[window]bool
}

// admit returns the error that add would return, and adds nothing.
func (s *windowSet) admit(l limiter.Limit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitLocked(windowOf(l))
}

func (s *windowSet) admitLocked(w window) error {
	if len(s.known) >= maxWindows && !s.known[w] {
		return fmt.Errorf("it would be one of more than %d different windows, want fewer", maxWindows)
	}
	return nil
}

// add adds the window of l. The error says that there are too many.
func (s *windowSet) add(l limiter.Limit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.admitLocked(windowOf(l)); err != nil {
		return err
	}
	s.known[windowOf(l)] = true
	return nil
}

// ruleWindows holds those windows of a configuration in which one of its rules counts. Safe for concurrent use.
type ruleWindows struct {
	all   *windowSet
	known atomic.Pointer[[]window] // copied when it grows, so that requests read it without a lock
}

func (w *ruleWindows) has(l limiter.Limit) bool {
	known := w.known.Load()
	return known != nil && slices.Contains(*known, windowOf(l))
}

// publish adds the window of l, which is in the windowSet.
func (w *ruleWindows) publish(l limiter.Limit) {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	if w.has(l) {
		return
	}
	grown := []window{windowOf(l)}
	if before := w.known.Load(); before != nil {
		grown = slices.Concat(*before, grown)
	}
	w.known.Store(&grown)
}

// seenLimits are limits that a rule counted by, one of each window. It outlives a Reconfigure, because the counters do.
// The zero value is ready to use. Safe for concurrent use.
type seenLimits struct {
	mu     sync.Mutex
	latest []limiter.Limit // the latest last
}

// maxSeen is enough for the windows of four configurations that have none in common. Older ones are forgotten.
const maxSeen = 4 * maxWindows

func (s *seenLimits) note(l limiter.Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = slices.DeleteFunc(s.latest, func(other limiter.Limit) bool { return other.SameWindow(&l) })
	if len(s.latest) >= maxSeen {
		s.latest = slices.Delete(s.latest, 0, 1)
	}
	s.latest = append(s.latest, l)
}

func (s *seenLimits) list() []limiter.Limit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.latest)
}
