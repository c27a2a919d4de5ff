package console

import (
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/httplimit/httplimit"
	"github.com/httplimit/httplimit/limiter"
)

const (
	sketchShards = 8 // 1,024 keys in all

	// halfSpan is how many seconds one summary counts for. What is shown is that of the present span and the one
	// before: the last 7.5 to 15 minutes.
	halfSpan = keptSeconds / 2
)

// sketch finds the keys that are counted most among any number of them, in constant memory, by the algorithm
// Space-Saving (Metwally, Agrawal and El Abbadi, 2005), in shards by a hash under a secret of the process.
//
// For each key that it lists, least <= true <= most + dropped of its shard. A key that is not listed was counted at
// most as often as topKeys.Unlisted says: in each shard 1/128 of what that counted, or less. Where another goroutine
// holds the shard, a count is dropped, and counted as dropped, instead of waited for.
//
// Safe for concurrent use.
type sketch struct {
	seed   maphash.Seed
	shards [sketchShards]shard
}

type shard struct {
	mu      sync.Mutex
	latest  lockedSecond // of the rule's history: what was counted while the lock was held for the key anyway
	span    uint32       // which one the present summary counts for: the second divided by halfSpan
	now     *summary
	before  *summary
	dropped atomic.Uint64
	// What dropped was when the present summary began, and the one before.
	droppedAtNow, droppedAtBefore uint64
}

func newSketch() *sketch {
	s := &sketch{seed: maphash.MakeSeed()}
	for i := range s.shards {
		s.shards[i].now, s.shards[i].before = new(summary), new(summary)
	}
	return s
}

// count counts the key of a decision once, and in n the decision itself. It returns false if that has to be counted in
// the history otherwise.
func (s *sketch) count(r *httplimit.Observed, second uint32, n counter, h *history) (counted bool) {
	hash := maphash.String(s.seed, r.Key)
	sh := &s.shards[hash>>61]
	if !sh.mu.TryLock() {
		sh.dropped.Add(1)
		return false
	}
	counted = sh.latest.count(h, second, n)
	sh.turn(second / halfSpan)
	sh.now.count(hash, r.Key, second).last.note(r, second)
	sh.mu.Unlock()
	return counted
}

// flush moves what was counted of the history to where it is read.
func (s *sketch) flush(h *history) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		sh.latest.flush(h)
		sh.mu.Unlock()
	}
}

// turn makes the present summary that of a later span.
func (sh *shard) turn(span uint32) {
	if span <= sh.span {
		return
	}
	if span == sh.span+1 {
		sh.now, sh.before = sh.before, sh.now
	} else {
		sh.before.clear()
	}
	// What was dropped since the last turn belongs to the span before this one, or to this one.
	sh.droppedAtBefore, sh.droppedAtNow = sh.droppedAtNow, sh.dropped.Load()
	sh.now.clear()
	sh.span = span
}

// sighting is what is noted of a key each time that it is counted.
type sighting struct {
	second    uint32
	until     uint32 // the second at which it would pass again; 0: unknown or never
	remaining uint32
	limit     uint32 // the most that it could have
	result    uint8  // httplimit.Result
	noKey     bool
}

// note is written word by word in place: a copy of what was just written so is slow.
func (s *sighting) note(r *httplimit.Observed, second uint32) {
	s.second, s.until, s.result, s.noKey = second, 0, uint8(r.Result), r.NoKey
	s.remaining, s.limit = uint32(r.Remaining), uint32(mostOf(&r.Limit)) // both are at most 1e9
	wait := r.RetryAfter
	if r.Result == httplimit.ResultAllowed {
		wait = r.ResetAfter
	}
	if wait < limiter.Never/2 {
		if until := int64(second) + int64((wait+time.Second-1)/time.Second); until <= math.MaxUint32 {
			s.until = uint32(until)
		}
	}
}
