package memstore

// arena holds the entries of the SlidingLogs of one shard: doubly linked lists in one slice without pointers, oldest
// first, and a list of free nodes. An entry is what was admitted in one millisecond.
//
// A node is two words, so 16 bytes an entry. Blocks of several entries would save the half of that for long lists
// and cost a multiple for short ones; and a refund takes from the end of a list, where blocks need a way back too.
//
//	time 44 (Unix milliseconds), units 20 | previous 32, next 32 (numbers of nodes from 1, 0 for none)
type arena struct {
	nodes []uint64
	free  uint32 // the first free node; they are linked by next
	live  int
}

// mostUnits is how many units one entry holds, far above the largest limit of a log. Only Force gets there.
const mostUnits = 1<<20 - 1

func (a *arena) time(node uint32) int64  { return int64(a.nodes[2*(node-1)] >> 20) }
func (a *arena) units(node uint32) int64 { return int64(a.nodes[2*(node-1)] & mostUnits) }
func (a *arena) set(node uint32, time, units int64) {
	a.nodes[2*(node-1)] = uint64(time)<<20 | uint64(units)
}

func (a *arena) previous(node uint32) uint32 { return uint32(a.nodes[2*(node-1)+1] >> 32) }
func (a *arena) next(node uint32) uint32     { return uint32(a.nodes[2*(node-1)+1]) }
func (a *arena) link(node, previous, next uint32) {
	a.nodes[2*(node-1)+1] = uint64(previous)<<32 | uint64(next)
}

// add appends an entry to the list that ends in tail (0: an empty one) and returns its node.
func (a *arena) add(tail uint32, time, units int64) uint32 {
	node := a.free
	if node != 0 {
		a.free = a.next(node)
	} else {
		a.nodes = append(a.nodes, 0, 0)
		node = uint32(len(a.nodes) / 2)
	}
	a.live++
	a.set(node, time, units)
	a.link(node, tail, 0)
	if tail != 0 {
		a.link(tail, a.previous(tail), node)
	}
	return node
}

// drop frees the nodes from first to last, which are linked and count of them. Nodes left beside them must be
// linked anew by the caller.
func (a *arena) drop(first, last uint32, count int) {
	a.live -= count
	if a.live == 0 {
		*a = arena{}
		return
	}
	a.link(last, 0, a.free)
	a.free = first
}

// sparse reports whether so few nodes are live that moving them is worth its while.
func (a *arena) sparse() bool { return len(a.nodes) > 128 && a.live < len(a.nodes)/2/4 }

// move copies the list that begins in node to another arena and returns its new ends.
func (a *arena) move(node uint32, to *arena) (head, tail uint32) {
	for ; node != 0; node = a.next(node) {
		tail = to.add(tail, a.time(node), a.units(node))
		if head == 0 {
			head = tail
		}
	}
	return head, tail
}

// logReader tells when the units of one SlidingLog were taken.
type logReader struct {
	arena      *arena
	head, tail uint32
	units      int64
	// newest is when all units count as taken if there is no list.
	newest int64
}

// TakenAt goes through the list from the nearer end. A charge that did not fit asks for as many of the oldest units
// as it lacks, a refund for the newest that is left: so it takes no more steps than the charge has units.
func (r *logReader) TakenAt(n int64) int64 {
	if r.arena == nil {
		return r.newest
	}
	if after := r.units - n; after < n {
		node := r.tail
		for after -= r.arena.units(node); after >= 0; after -= r.arena.units(node) {
			node = r.arena.previous(node)
		}
		return r.arena.time(node)
	}
	node := r.head
	for n -= r.arena.units(node); n > 0; n -= r.arena.units(node) {
		node = r.arena.next(node)
	}
	return r.arena.time(node)
}
