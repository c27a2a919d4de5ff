package algorithm

import (
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/internal/window"
)

// LoadWindow fills a zero Usage with what a SlidingWindow or FixedWindow counter holds at now, in Unix milliseconds.
// Stored are the number of a window, its count, and the count of the window before it; for a counter that was never
// stored, all three are 0. Windows are numbered from the epoch: window n begins at n times the window's length.
//
// If the stored window lies in the future, the clock went back. That must not free a key, so all its units count in the
// window of now. Nor must it lock a key out until the clock has caught up, so a store whose clock can go back stores
// such a Usage, even if the batch is refused.
func (u *Usage) LoadWindow(l *limiter.Limit, now, number, current, previous int64) {
	length := l.Window.Milliseconds()
	u.At, u.Number, u.Current = now, number, current
	if l.Algorithm == limiter.SlidingWindow {
		u.Previous = previous
	}
	// A multiplication, because most charges come in the window that is stored, and a division takes several times as
	// long.
	if elapsed := now - number*length; elapsed < 0 || elapsed >= length {
		u.advance(l, now/length)
	}
}

// advance moves the counts to the window of that number.
func (u *Usage) advance(l *limiter.Limit, number int64) {
	switch {
	case u.Number > number:
		// As counts of the previous window they would weigh less than they did.
		u.Current, u.Previous = addSaturating(u.Current, u.Previous), 0
	case u.Number == number-1 && l.Algorithm == limiter.SlidingWindow:
		u.Current, u.Previous = 0, u.Current
	default:
		u.Current, u.Previous = 0, 0
	}
	u.Number = number
}

// counts returns what the counter holds after extra units.
func (u *Usage) counts(l *limiter.Limit, extra int64) window.Counts {
	length := l.Window.Milliseconds()
	return window.Counts{
		Current: u.Current + extra, Previous: u.Previous, Left: (u.Number+1)*length - u.At, Length: length,
	}
}

// refundsTo reports to which of the two windows a refund goes, of a charge that was taken at that moment. Without a
// moment (0) it goes to both, the current one first.
func (u *Usage) refundsTo(l *limiter.Limit, at int64) (current, previous bool) {
	if at == 0 {
		return true, true
	}
	number := at / l.Window.Milliseconds()
	return number == u.Number, number == u.Number-1
}
