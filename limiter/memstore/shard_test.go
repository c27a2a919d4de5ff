package memstore

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// newShard makes a store of one stripe and returns its shard of l.
func newShard(t *testing.T, l limiter.Limit) *shard {
	t.Helper()
	store, err := New(Config{MaxKeys: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	table, err := store.tableOf(&l)
	if err != nil {
		t.Fatal(err)
	}
	return store.stripes[0].shard(table, 0)
}

// TestStripesShareNoCacheLine: the padding follows the fields.
func TestStripesShareNoCacheLine(t *testing.T) {
	if size := unsafe.Sizeof(stripe{}); size%128 != 0 && unsafe.Sizeof(uintptr(0)) == 8 {
		t.Errorf("a stripe has %d bytes, want a multiple of 128", size)
	}
}

// TestShardAgainstMap compares the hash table with Go's, through growth, removal and shrinking. Few different top bits
// make long runs of slots, which removals have to close.
func TestShardAgainstMap(t *testing.T) {
	for name, l := range map[string]limiter.Limit{
		"two words a slot":   limiter.PerHour(10),
		"three words a slot": {Requests: 10, Window: time.Hour, Algorithm: limiter.TokenBucket},
	} {
		t.Run(name, func(t *testing.T) {
			sh := newShard(t, l)
			want := map[uint64]uint64{}
			random := rand.New(rand.NewPCG(1, 2))
			for step := range 8_000 {
				hash := random.Uint64N(300)<<56 | random.Uint64N(8)<<8
				if step/2_000%2 == 1 {
					hash |= random.Uint64() >> 8 &^ lowByte
				}
				n, found := sh.find(hash)
				if _, expected := want[hash]; found != expected {
					t.Fatalf("step %d: find(%x): got %v, want %v", step, hash, found, expected)
				}
				switch {
				case found && random.IntN(3) > 0:
					sh.remove(n)
					delete(want, hash)
					sh.shrink()
				case !found && sh.table.budget.take():
					n = sh.insert(hash)
					copy(sh.slot(n), []uint64{withLow(hash, uint8(step)), uint64(step) + 1})
					want[hash] = uint64(step) + 1
				}
				if step%101 == 0 {
					compareShard(t, sh, want)
				}
			}
			compareShard(t, sh, want)
			for hash := range maps.Clone(want) {
				n, _ := sh.find(hash)
				sh.remove(n)
				sh.shrink()
			}
			if len(sh.slots) != 0 || sh.table.budget.used.Load() != 0 {
				t.Errorf("after all was removed: got %d words and %d of the budget in use, want none",
					len(sh.slots), sh.table.budget.used.Load())
			}
		})
	}
}

// TestStoreGrowsEvenly: however many keys a store holds, its slots are some 1.65 times as many, which is the mean over
// shards that are in all stages between two doublings. If all doubled at once it would swing between 1.14 and 2.29.
func TestStoreGrowsEvenly(t *testing.T) {
	store, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := limiter.PerHour(10)
	table, err := store.tableOf(&l)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for keys := 1; keys <= 200_000; keys++ {
		hash := random.Uint64()
		n := store.stripeOf(hash).shard(table, 0).insert(hash)
		copy(store.stripeOf(hash).shard(table, 0).slot(n), []uint64{withLow(hash, 0), 1})
		if keys < 20_000 || keys%10_000 != 0 {
			continue
		}
		slots := 0
		for i := range store.stripes {
			slots += store.stripes[i].shard(table, 0).capacity
		}
		if ratio := float64(slots) / float64(keys); ratio < 1.5 || ratio > 1.8 {
			t.Errorf("got %.2f slots a key with %d keys, want about 1.65", ratio, keys)
		}
	}
}

func compareShard(t *testing.T, sh *shard, want map[uint64]uint64) {
	t.Helper()
	got := map[uint64]uint64{}
	for n := range sh.capacity {
		if sh.taken(n) {
			got[sh.slot(n)[0]&^lowByte] = sh.slot(n)[1]
		}
	}
	if !maps.Equal(got, want) || sh.used != len(want) || sh.table.budget.used.Load() != int64(len(want)) {
		t.Fatalf("got %d counters, %d in use, %d of the budget, want %d and the same",
			len(got), sh.used, sh.table.budget.used.Load(), len(want))
	}
	for hash, value := range want {
		if n, found := sh.find(hash); !found || sh.slot(n)[1] != value {
			t.Fatalf("find(%x): got %v, want %d", hash, found, value)
		}
	}
	load := float64(sh.used) / float64(max(1, sh.capacity))
	if load > 7./8 || load < 7./32 && sh.capacity > sh.smallest() {
		t.Fatalf("got %d of %d slots in use, want between 7/32 and 7/8", sh.used, sh.capacity)
	}
}

// TestIdleTimeMatchesResetAfter: a counter may be forgotten once its decision would be that of a new key, and not one
// millisecond earlier.
func TestIdleTimeMatchesResetAfter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for algorithm := limiter.SlidingWindow; algorithm <= limiter.TokenBucket; algorithm++ {
		t.Run(algorithm.String(), func(t *testing.T) {
			for range 500 {
				window := time.Duration(1+random.Int64N(5000)) * time.Millisecond
				l := limiter.Limit{Requests: 1 + random.Int64N(1000), Window: window, Algorithm: algorithm}
				sh := newShard(t, l)
				now := int64(1_800_000_000_000) + random.Int64N(10_000)
				var reset int64
				for range 1 + random.IntN(3) {
					now += random.Int64N(2 * sh.table.window)
					reset = spend(sh, l, now, 1+random.Int64N(l.Requests))
				}
				n, found := sh.find(testHash)
				if !found {
					t.Fatalf("%v: the counter is gone", l)
				}
				got, end := sh.expires(n, now)
				if algorithm == limiter.SlidingLog {
					got = end
				}
				want := now + reset
				if got != want {
					t.Fatalf("%v: idle in %d ms, want %d", l, got-now, want-now)
				}
				if end < got {
					t.Fatalf("%v: ends %d ms before it is idle", l, got-end)
				}
			}
		})
	}
}

// TestCompactKeepsLogs: the entries that are left of many logs move together, and stay in order.
func TestCompactKeepsLogs(t *testing.T) {
	l := limiter.Limit{Requests: 1000, Window: time.Second, Algorithm: limiter.SlidingLog}
	sh := newShard(t, l)
	const begun, logs, stay = 1_800_000_000_000, 100, 5
	for ms := range int64(10) {
		for i := range uint64(logs) {
			if i < stay || ms < 5 {
				spendOn(sh, l, i<<56|testHash>>8, begun+ms, 1+ms)
			}
		}
	}
	for i := range uint64(stay) {
		spendOn(sh, l, i<<56|testHash>>8, begun+500, 7)
	}
	now := sh.stripe.advance(begun + 1005)
	sh.sweep(now, false)
	budget, want := sh.table.budget.used.Load(), stay*5
	if got := sh.log.live; got != want || len(sh.log.entries) != want || budget != int64(want) {
		t.Fatalf("got %d live of %d entries, %d of the budget, want %d, packed", got, len(sh.log.entries), budget, want)
	}
	for i := range uint64(stay) {
		n, found := sh.find(i<<56 | testHash>>8)
		if !found {
			t.Fatalf("log %d is gone", i)
		}
		var u algorithm.Usage
		sh.load(&u, &limiter.Charge{Limit: l}, i<<56|testHash>>8, n, true, now, &sh.stripe.log)
		// 7, 8, 9, 10 units of 6 to 9 ms after the beginning, then 7.
		for nth, want := range map[int64]int64{1: 6, 7: 6, 8: 7, 15: 7, 16: 8, 25: 9, 34: 9, 35: 500, 41: 500} {
			if got := u.Log.TakenAt(nth) - begun; got != want {
				t.Errorf("log %d: got unit %d taken after %d ms, want %d", i, nth, got, want)
			}
		}
		if u.Current != 41 {
			t.Errorf("log %d: got %d units, want 41", i, u.Current)
		}
	}
}

const testHash = 0x123456789abcde << 8

// spend takes cost from the counter of testHash and returns how long it needs to reset, in milliseconds.
func spend(sh *shard, l limiter.Limit, now, cost int64) int64 {
	return spendOn(sh, l, testHash, now, cost)
}

func spendOn(sh *shard, l limiter.Limit, hash uint64, now, cost int64) int64 {
	now = sh.stripe.advance(now)
	n, found := sh.lookUp(hash, now)
	c := limiter.Charge{Limit: l, Cost: cost, Mode: limiter.Force}
	var u algorithm.Usage
	sh.load(&u, &c, hash, n, found, now, &sh.stripe.log)
	u.Judge(&c)
	sh.save(hash, n, found, &u, &c)
	return int64(c.ResetAfter / time.Millisecond)
}
