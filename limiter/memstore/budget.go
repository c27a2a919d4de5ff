package memstore

import "sync/atomic"

// budget is the bound on what the tables of a store hold together. Only counters that come and go touch it.
type budget struct {
	most int64
	_    [56]byte // a flood writes to used all the time, and every charge reads what lies around it
	used atomic.Int64
	_    [56]byte
}

// take asks for room for one counter, or for one entry of a SlidingLog.
func (b *budget) take() bool {
	if b.used.Add(1) <= b.most {
		return true
	}
	b.used.Add(-1)
	return false
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// held is what was taken, without those who are being refused right now.
func (b *budget) held() int64 { return min(b.used.Load(), b.most) }

// fits reports whether there is room for n more.
func (b *budget) fits(n int) bool { return b.used.Load()+int64(n) <= b.most }
