package console

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/httplimit/httplimit"
)

const begin = halfSpan * 4_000_000 // the first second of a span

// countAt counts a key in a sketch, and nothing in a history.
func countAt(s *sketch, key string, second uint32) {
	s.count(&httplimit.Observed{Key: key, Result: httplimit.ResultRefused}, second, refusedStore, &anyHistory)
}

var anyHistory history

// flood counts n times: many keys once or a few times each, and heavy ones now and then.
func flood(n int, count func(key string)) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		switch {
		case i%100 == 0:
			count("heavy-1")
		case i%250 == 1:
			count("heavy-2")
		case i%900 == 2:
			count(fmt.Sprintf("heavy-%d", 3+i%3))
		case i%2 == 0:
			count(fmt.Sprintf("some-%d", random.IntN(20_000)))
		default:
			count(fmt.Sprintf("203.0.113.7:%d", i))
		}
	}
}

// Every bound that the page states is checked against an exact count, over a flood of a million different keys.
func TestSketchBoundsInAFlood(t *testing.T) {
	s, exact := newSketch(), make(map[string]uint64)
	n := 0
	flood(2_100_000, func(key string) {
		n++
		exact[key]++
		countAt(s, key, begin+uint32(n/1000)%(2*halfSpan))
	})
	if len(exact) < 1_000_000 {
		t.Fatalf("got a flood of %d keys, want at least 1,000,000", len(exact))
	}
	top := s.top(begin+2*halfSpan-1, 0)
	checkBounds(t, top, exact)
	for i, want := range []string{"heavy-1", "heavy-2"} {
		if len(top.Keys) <= i || top.Keys[i].Key != want {
			t.Errorf("got rank %d other than %s", i+1, want)
		}
	}
}

func checkBounds(t *testing.T, top topKeys, exact map[string]uint64) {
	t.Helper()
	listed := make(map[string]bool)
	for _, k := range top.Keys {
		if true := exact[k.Key]; k.Least > true || true > k.Most+k.dropped {
			t.Errorf("%s: got %d to %d, want %d within", k.Key, k.Least, k.Most, true)
		}
		if listed[k.Key] {
			t.Errorf("%s is listed twice", k.Key)
		}
		listed[k.Key] = true
	}
	var total uint64
	for key, n := range exact {
		total += n
		if n > top.Unlisted+top.Dropped && !listed[key] {
			t.Errorf("%s was counted %d times and is not listed, want all above %d", key, n, top.Unlisted)
		}
	}
	if got := top.Total + top.Dropped; got != total {
		t.Errorf("got %d counted and dropped, want %d", got, total)
	}
	if most := total / 512; top.Unlisted > most { // two summaries of 1,024 keys, in shards that are not quite equal
		t.Errorf("got a bound of %d for unlisted keys, want at most %d", top.Unlisted, most)
	}
}

func TestSketchParallel(t *testing.T) {
	s := newSketch()
	var mu sync.Mutex
	exact := make(map[string]uint64)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			mine := make(map[string]uint64)
			flood(50_000, func(key string) {
				mine[key]++
				countAt(s, key, begin)
			})
			mu.Lock()
			defer mu.Unlock()
			for key, n := range mine {
				exact[key] += n
			}
		})
	}
	for range 20 {
		s.top(begin, 10)
	}
	wg.Wait()
	checkBounds(t, s.top(begin, 0), exact)
}

func TestSketchSpans(t *testing.T) {
	for _, test := range []struct {
		name  string
		at    []uint32 // when it is counted, seconds
		look  uint32
		least uint64
	}{
		{"the present span", []uint32{0, 1, 2}, 3, 3},
		{"with the one before", []uint32{0, halfSpan - 1, halfSpan}, halfSpan, 3},
		{"the one before alone", []uint32{0, halfSpan - 1}, 2*halfSpan - 1, 2},
		{"no longer", []uint32{0, halfSpan - 1}, 2 * halfSpan, 0},
		{"the later ones only", []uint32{0, halfSpan, halfSpan, 2 * halfSpan}, 2 * halfSpan, 3},
		{"after a long time", []uint32{0, 10 * halfSpan}, 10 * halfSpan, 1},
		{"long past", []uint32{0, 1}, 100 * halfSpan, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSketch()
			for _, at := range test.at {
				countAt(s, "key", begin+at)
			}
			var least uint64
			for _, k := range s.top(begin+test.look, 0).Keys {
				least += k.Least
			}
			if least != test.least {
				t.Errorf("got %d, want %d", least, test.least)
			}
		})
	}
}

func TestSketchDroppedIsCounted(t *testing.T) {
	s := newSketch()
	for i := range s.shards {
		s.shards[i].mu.Lock()
	}
	for i := range 50 {
		countAt(s, fmt.Sprint("key-", i), begin)
	}
	for i := range s.shards {
		s.shards[i].mu.Unlock()
	}
	if top := s.top(begin, 0); top.Dropped != 50 || top.Total != 0 {
		t.Errorf("got %d dropped and %d counted, want 50 and 0", top.Dropped, top.Total)
	}
	if top := s.top(begin+3*halfSpan, 0); top.Dropped != 0 {
		t.Errorf("got %d dropped of a time long past, want 0", top.Dropped)
	}
}

// What a summary says does not depend on how its index is filled: it is checked against the algorithm in its plainest
// form, on hashes that collide.
func TestSummaryAgainstPlainForm(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var m summary
	type plain struct{ most, excess uint32 }
	want, exact := make(map[string]*plain), make(map[string]uint64)
	for range 200_000 {
		n := random.IntN(300)
		if random.IntN(3) == 0 {
			n = random.IntN(5)
		}
		key := fmt.Sprint("key-", n)
		if want[key] == nil && len(want) == shardKeys {
			future := m // of several that were counted least any one may go
			gone := string(m.entries[future.giveWay()].key())
			for _, other := range want {
				if other.most < want[gone].most {
					t.Fatalf("%s goes, which was counted %d times, another one %d", gone, want[gone].most, other.most)
				}
			}
			want[key] = &plain{want[gone].most, want[gone].most}
			delete(want, gone)
		} else if want[key] == nil {
			want[key] = &plain{}
		}
		want[key].most++
		exact[key]++
		m.count(uint64(n%40)*3, key, 0)
	}
	for e := range uint8(m.keys) {
		key := string(m.entries[e].key())
		if w := want[key]; w == nil || m.most[e] != w.most || m.entries[e].excess != w.excess {
			t.Errorf("%s: got %d with excess %d, want %v", key, m.most[e], m.entries[e].excess, w)
		}
	}
	for key, n := range exact {
		if want[key] == nil && n > m.unlisted() {
			t.Errorf("%s was counted %d times and has no entry, want all above %d", key, n, m.unlisted())
		}
	}
}

// A key that one span has and the other does not may have been counted in the other as often as its least one.
func TestSketchBoundsAcrossSpans(t *testing.T) {
	s, exact := newSketch(), make(map[string]uint64)
	count := func(second uint32, key string, times int) {
		for range times {
			exact[key]++
			countAt(s, key, second)
		}
	}
	for i := range 300 {
		count(begin, fmt.Sprint("early-", i), 2)
	}
	for i := range 20_000 {
		count(begin+1, fmt.Sprint("churn-", i), 3)
	}
	for i := range 300 {
		count(begin+halfSpan, fmt.Sprint("early-", i), 5)
	}
	for i := range 5000 {
		count(begin+halfSpan+1, fmt.Sprint("late-", i), 6)
	}
	top := s.top(begin+halfSpan+1, 0)
	listed := make(map[string]bool)
	for _, k := range top.Keys {
		listed[k.Key] = true
		if n := exact[k.Key]; k.Least > n || n > k.Most {
			t.Errorf("%s: got %d to %d, want %d within", k.Key, k.Least, k.Most, n)
		}
	}
	for key, n := range exact {
		if !listed[key] && n > top.Unlisted {
			t.Errorf("%s was counted %d times and is not listed, want all above %d", key, n, top.Unlisted)
		}
	}
	var low uint64 // half of what may be unlisted comes of each span
	for i := range s.shards {
		low = max(low, s.shards[i].now.unlisted(), s.shards[i].before.unlisted())
	}
	if top.Unlisted <= low {
		t.Errorf("got a bound of %d for unlisted keys, want more than the %d of one span", top.Unlisted, low)
	}
}

// Nothing is unlisted until a key gives way, and then what that one was counted may be.
func TestSummaryUnlisted(t *testing.T) {
	var m summary
	key := func(i int) (uint64, string) { return uint64(i), fmt.Sprint("key-", i) }
	for i := range shardKeys {
		for range 10 + i%3 {
			hash, text := key(i)
			m.count(hash, text, 0)
		}
	}
	for i, want := range []uint64{0, 10, 10} {
		if got := m.unlisted(); got != want {
			t.Errorf("after %d keys too many: got %d, want %d", i, got, want)
		}
		hash, text := key(shardKeys + i)
		if got := m.count(hash, text, 0).excess; got != 10 {
			t.Errorf("got an excess of %d, want 10", got)
		}
	}
}
