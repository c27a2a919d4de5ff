package algorithm

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/window"
)

// LoadWindow fills a zero Usage with what a SlidingWindow or FixedWindow counter holds at now (Unix milliseconds), if
// what is stored are the counts of window number and of the one before it. Windows are numbered from the epoch: number
// n begins at n times the window. A counter that was never stored is three zeros.
//
// If the stored window lies in the future, the clock went back, which must not free a key: all its units count for
// the window of now. Nor may it lock a key out until the clock has caught up: so a store whose clock can go back
// writes such a Usage down, even if the batch is refused.
func (u *Usage) LoadWindow(l *limiter.Limit, now, number, current, previous int64) {
	length := l.WindowMillis()
	u.At, u.Number, u.Current = now, number, current
	if l.Algorithm == limiter.SlidingWindow {
		u.Previous = previous
	}
	// Multiplied, as most charges come in the window that is stored, and a division takes several times as long.
	if elapsed := now - number*length; elapsed < 0 || elapsed >= length {
		u.advance(l, now/length)
	}
}

// advance carries the counts over to the window of that number.
func (u *Usage) advance(l *limiter.Limit, number int64) {
	switch {
	case u.Number > number:
		// As the previous window, at the end of this one, they would weigh less than they did.
		u.Current, u.Previous = saturate(u.Current, u.Previous), 0
	case u.Number == number-1 && l.Algorithm == limiter.SlidingWindow:
		u.Current, u.Previous = 0, u.Current
	default:
		u.Current, u.Previous = 0, 0
	}
	u.Number = number
}

// counts returns what the counter holds after extra units.
func (u *Usage) counts(l *limiter.Limit, extra int64) window.Counts {
	length := l.WindowMillis()
	return window.Counts{Current: u.Current + extra, Previous: u.Previous, Left: (u.Number+1)*length - u.At, Length: length}
}

// refundsTo reports to which of the two windows a refund of what was charged at that moment goes. Without a moment
// (0) it goes to both, the current one first.
func (u *Usage) refundsTo(l *limiter.Limit, at int64) (current, previous bool) {
	if at == 0 {
		return true, true
	}
	number := at / l.WindowMillis()
	return number == u.Number, number == u.Number-1
}
