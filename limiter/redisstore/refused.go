package redisstore

import "sync/atomic"

// refusedLately remembers who was refused, for windows.lua: to add first and take back costs a write more than to read,
// and who was refused is mostly refused again. Clients that share a place by their hash cost each other a command.
type refusedLately [4096]atomic.Bool

func (r *refusedLately) place(b *batch) *atomic.Bool { return &r[b.order%uint64(len(r))] }

// order returns the bit of the batch's order that has its counters read first, if its latest answer was a refusal.
func (r *refusedLately) order(b *batch) uint64 {
	if b.way() == windows && r.place(b).Load() {
		return readsFirst
	}
	return 0
}

// note takes in what the batch was answered.
func (r *refusedLately) note(b *batch) {
	if b.way() == windows && b.outcome.taken == b.readsFirst() {
		r.place(b).Store(!b.outcome.taken)
	}
}
