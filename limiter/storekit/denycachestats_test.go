package storekit_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

func TestDenyCacheFigures(t *testing.T) {
	d := storekit.NewDenyCache(60)
	check := func(when string, entries int64, hits uint64) {
		t.Helper()
		if e, h := d.Entries(), d.Hits(); e != entries || h != hits {
			t.Errorf("%s: %d entries, %d hits; want %d, %d", when, e, h, entries, hits)
		}
	}
	if got, want := d.Capacity(), int64(64); got != want {
		t.Errorf("Capacity() is %d, want %d: a power of two", got, want)
	}
	check("at first", 0, 0)
	a, b := refused("a", time.Second), refused("b", time.Second)
	d.Learn([]limiter.Charge{a}, false, 0, 0)
	d.Learn([]limiter.Charge{b}, false, 0, 0)
	d.Learn([]limiter.Charge{b}, false, 0, 0)
	check("with two refusals", 2, 0)
	for _, batch := range [][]limiter.Charge{{unanswered(a)}, {unanswered(a), unanswered(b)}} {
		if !d.Answer(batch, 1) {
			t.Fatal("not answered")
		}
	}
	check("a batch is one hit, however many of its charges were remembered", 2, 2)
	if d.Answer([]limiter.Charge{unanswered(refused("c", 0))}, 1) {
		t.Fatal("answered, want not")
	}
	check("after a miss", 2, 2)
	d.Drop(&a, 2)
	check("after a reset", 1, 2)
}

func TestDenyCacheEntriesStayWithinCapacity(t *testing.T) {
	d := storekit.NewDenyCache(16)
	for i := range 1000 {
		d.Learn([]limiter.Charge{refused(fmt.Sprint(i), time.Second)}, false, 0, 0)
	}
	if got := d.Entries(); got != d.Capacity() {
		t.Errorf("%d entries after a flood, want all %d", got, d.Capacity())
	}
}

func TestDenyCacheCountsEveryHit(t *testing.T) {
	const callers, hits = 8, 5000
	d := storekit.NewDenyCache(0)
	d.Learn([]limiter.Charge{refused("k", time.Second)}, false, 0, 0)
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			batch := []limiter.Charge{unanswered(refused("k", 0))}
			for range hits {
				d.Answer(batch, 1)
			}
		})
	}
	wait.Wait()
	if got := d.Hits(); got != callers*hits {
		t.Errorf("%d hits, want %d", got, callers*hits)
	}
}

func TestDenyCacheFiguresOfNone(t *testing.T) {
	var d *storekit.DenyCache
	if e, c, h := d.Entries(), d.Capacity(), d.Hits(); e != 0 || c != 0 || h != 0 {
		t.Errorf("%d entries, capacity %d, %d hits; want 0 of each", e, c, h)
	}
}
