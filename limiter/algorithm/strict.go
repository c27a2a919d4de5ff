package algorithm

import (
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/arith"
)

// StrictParts is into how many parts a StrictWindow cuts its window W. A part is P = W/StrictParts long, rounded up to
// whole milliseconds, and begins at a multiple of P since the epoch. A charge is counted in the part in which it was
// taken, and a decision adds the present part and the m = W/P, rounded up, before it, all of them in full. They begin
// at least W before the decision, so no stretch of one window ever holds more than the limit.
//
// A client that always asks is admitted the limit once in (m+1) x P: 10/11 of it in each window where P needs no
// rounding. With more parts it would be more. Ten is the largest number with which counts of any size have one form of
// fixed size in every store: 11 counts and their sum, of 30 bits each, are 7 words in memory, 92 bytes a client with
// the empty slots of the hash table (8 parts: 6 words and 79 bytes, 12 parts: 8 words and 105), and 55 bytes in Redis,
// 196 with the key. A second form for small counts would make room for 16 parts, 94 % of the limit instead of 91 %, and
// have each store do everything in two ways. And ten divides what people write, seconds, minutes, hours and days, so
// that their parts are round.
const StrictParts = arith.StrictParts

// PartsOf returns how long a part of a StrictWindow is, in milliseconds, and how many parts are counted before the
// present one, 1 to StrictParts.
func PartsOf(window time.Duration) (length, before int64) { return arith.Parts(window.Milliseconds()) }

// Parts is what a StrictWindow holds.
type Parts struct {
	// Number is that of the newest part, counted from the epoch.
	Number int64
	// Counts are the units that were taken in the newest part and in those before it: Counts[i] in part Number - i.
	Counts [StrictParts + 1]int64

	returned [StrictParts + 1]int64 // by the batch, for the case that it is refused
}

// LoadStrict fills a zero Usage with what a StrictWindow holds at now, in Unix milliseconds. It moves parts, which
// holds what is stored, or is zero for a counter that was never stored, to the part of now. While the Usage is in use
// parts must not change; afterwards it holds what is left of what was stored, and the units that the batch spent are to
// be added to Counts[0].
//
// If the clock went back, units of parts that lie in the future count in the part of now. A store whose clock can go
// back stores that, even if the batch is refused: otherwise a key would be locked out until the clock has caught up.
func (u *Usage) LoadStrict(l *limiter.Limit, now int64, parts *Parts) {
	length, before := PartsOf(l.Window)
	parts.returned = [StrictParts + 1]int64{}
	parts.advance(now/length, int(before))
	u.At, u.Number, u.Parts = now, parts.Number, parts
	for _, n := range parts.Counts {
		u.Current += n
	}
}

// advance moves the counts to the part of that number, with so many parts before it.
func (p *Parts) advance(number int64, before int) {
	counts := p.Counts
	p.Counts = [StrictParts + 1]int64{}
	if ahead := p.Number - number; ahead > 0 {
		for i, n := range counts {
			p.Counts[max(0, i-int(min(ahead, StrictParts)))] += n
		}
	} else if behind := -ahead; behind <= int64(before) {
		copy(p.Counts[behind:before+1], counts[:])
	}
	p.Number = number
}

// strictRetryAfter returns when so many of the oldest parts have left that a cost fits, which is at most the limit.
func (u *Usage) strictRetryAfter(l *limiter.Limit, cost int64) time.Duration {
	lacking, ago := u.Current+cost-l.Requests, StrictParts
	for ; ago > 0; ago-- {
		if lacking -= u.Parts.Counts[ago]; lacking <= 0 {
			break
		}
	}
	return u.partLeaves(l, ago)
}

// strictResetAfter returns when the newest part with units in it has left, after extra units in the present one.
func (u *Usage) strictResetAfter(l *limiter.Limit, extra int64) time.Duration {
	if extra > 0 {
		return u.partLeaves(l, 0)
	}
	for ago, n := range u.Parts.Counts {
		if n > 0 {
			return u.partLeaves(l, ago)
		}
	}
	return 0
}

// partLeaves returns the time until the part that is so many before the present one no longer counts.
func (u *Usage) partLeaves(l *limiter.Limit, ago int) time.Duration {
	length, before := PartsOf(l.Window)
	return arith.Millis((u.Number-int64(ago)+before+1)*length - u.At)
}

// refundParts takes n units off: of a charge that was taken at that moment from its part, and without a moment (0) from
// the newest first. What the batch itself has spent is in the present part, and goes first there.
func (u *Usage) refundParts(l *limiter.Limit, n, at int64) {
	length, _ := PartsOf(l.Window)
	for i := range u.Parts.Counts {
		if at != 0 && at/length != u.Number-int64(i) {
			continue
		}
		if i == 0 {
			own := min(n, u.Spent)
			u.Spent -= own
			n -= own
		}
		back := min(n, u.Parts.Counts[i])
		u.Parts.Counts[i] -= back
		u.Parts.returned[i] += back
		u.Current -= back
		u.Returned += back
		n -= back
	}
}

// rollBackParts takes back all refunds of the batch.
func (u *Usage) rollBackParts() {
	for i, n := range u.Parts.returned {
		u.Parts.Counts[i] += n
		u.Current += n
	}
	u.Parts.returned = [StrictParts + 1]int64{}
}
