package boltkv_test

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/httplimit/httplimit/e2e/boltkv"
	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/kvstore"
	"github.com/httplimit/httplimit/limiter/limitertest"
)

// patient is a Timeout that no slow test machine exceeds.
const patient = 20 * time.Second

// manualClock is a clock that a test moves.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

// newClock returns a clock that starts at a boundary of windows of any usual length.
func newClock() *manualClock { return &manualClock{now: time.UnixMilli(1_800_000_000_000)} }

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func open(t *testing.T, file string) *bbolt.DB {
	t.Helper()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func newKV(t *testing.T, db *bbolt.DB, clock *manualClock) *boltkv.KV {
	t.Helper()
	kv, err := boltkv.New(db, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func add(t *testing.T, kv *boltkv.KV, key string, delta int64, ttl time.Duration) int64 {
	t.Helper()
	sum, err := kv.Add(t.Context(), key, delta, ttl)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestStore(t *testing.T) {
	limitertest.Run(t, func(t *testing.T) limitertest.Harness {
		clock := newClock()
		kv := newKV(t, open(t, filepath.Join(t.TempDir(), "limits.db")), clock)
		store, err := kvstore.New(kv, kvstore.Config{Timeout: patient, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return limitertest.Harness{
			Store:      store,
			Advance:    clock.Advance,
			Algorithms: []limiter.Algorithm{limiter.SlidingWindow, limiter.FixedWindow},
		}
	})
}

func TestAdd(t *testing.T) {
	clock := newClock()
	kv := newKV(t, open(t, filepath.Join(t.TempDir(), "limits.db")), clock)
	for i, step := range []struct {
		advance time.Duration
		delta   int64
		want    int64
	}{
		{0, -1, 0}, // creates nothing: the key lives from the next step on
		{time.Second, 5, 5},
		{time.Second, -2, 3},
		{8 * time.Second, 4, 7},
		{time.Second - 1, 1, 8}, // the last moment of ten seconds
		{1, 1, 1},
		{0, -math.MaxInt64, 0},
		{0, 2, 2},
		{10 * time.Second, -1, 0},
	} {
		clock.Advance(step.advance)
		if got := add(t, kv, "key", step.delta, 10*time.Second); got != step.want {
			t.Errorf("step %d: %d makes %d, want %d", i, step.delta, got, step.want)
		}
		if got, err := kv.Get(t.Context(), "none", "key"); err != nil || got[0] != 0 || got[1] != step.want {
			t.Errorf("step %d: Get returns %v, %v, want [0 %d]", i, got, err, step.want)
		}
	}
}

func TestCountsSurviveTheProcess(t *testing.T) {
	clock, file := newClock(), filepath.Join(t.TempDir(), "limits.db")
	db := open(t, file)
	add(t, newKV(t, db, clock), "key", 5, time.Minute)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := add(t, newKV(t, open(t, file), clock), "key", 1, time.Minute); got != 6 {
		t.Errorf("after a restart: %d, want 6", got)
	}
}

// Keys come and go all the time; counts that have ended must not stay.
func TestEndedCountsAreRemoved(t *testing.T) {
	clock := newClock()
	db := open(t, filepath.Join(t.TempDir(), "limits.db"))
	kv := newKV(t, db, clock)
	for i := range 1000 {
		clock.Advance(time.Second)
		add(t, kv, fmt.Sprint(i), 1, 10*time.Second)
		add(t, kv, fmt.Sprint("again", i%30), 1, 10*time.Second) // ends, and begins again before it is removed
	}
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			// Ten seconds of two keys, and those that the next Add removes.
			if got := bucket.Stats().KeyN; got < 10 || got > 24 {
				t.Errorf("the bucket of %s holds %d entries, want those of the last ten seconds", name, got)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestForeignEntryIsAnError(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "limits.db"))
	kv := newKV(t, db, newClock())
	err := db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("counts")).Put([]byte("key"), []byte("5"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := kv.Get(t.Context(), "key"); err == nil {
		t.Errorf("Get returns %v, want an error", got)
	}
	if got, err := kv.Add(t.Context(), "key", 1, time.Minute); err == nil {
		t.Errorf("Add returns %v, want an error", got)
	}
}
