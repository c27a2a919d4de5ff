// Package boltkv is a [kvstore.KV] in a bbolt database: an example of how little it takes to count in a database of
// your own. Copy it, and adapt it to your database.
//
// A bbolt database is a file that one process has open, so these limits are for one process, and survive it. Each
// charge waits for the disk once or twice, unless the database is opened with NoSync: that is far faster, but a power
// cut may destroy the file. Counts live for two windows only, so that may be acceptable.
package boltkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"github.com/httplimit/httplimit/limiter/kvstore"
)

var _ kvstore.KV = (*KV)(nil)

// KV is a [kvstore.KV] in two buckets of a bbolt database. It is safe for concurrent use. It does not close the
// database.
type KV struct {
	db  *bbolt.DB
	now func() time.Time
}

// New returns a KV in db, and creates its two buckets. now is a clock for tests; nil means the system's. If that clock
// is set forward, counts end early.
func New(db *bbolt.DB, now func() time.Time) (*KV, error) {
	if now == nil {
		now = time.Now
	}
	err := db.Update(func(tx *bbolt.Tx) error {
		_, countsErr := tx.CreateBucketIfNotExists([]byte(countsBucket))
		_, endsErr := tx.CreateBucketIfNotExists([]byte(endsBucket))
		return errors.Join(countsErr, endsErr)
	})
	if err != nil {
		return nil, fmt.Errorf("boltkv: %w", err)
	}
	return &KV{db: db, now: now}, nil
}

// Get implements [kvstore.KV].
func (kv *KV) Get(_ context.Context, keys ...string) (counts []int64, err error) {
	counts = make([]int64, len(keys))
	err = kv.db.View(func(tx *bbolt.Tx) error {
		for i, key := range keys {
			c, err := kv.live(tx, key)
			if err != nil {
				return err
			}
			counts[i] = c.n
		}
		return nil
	})
	return counts, err
}

// Add implements [kvstore.KV]. It ignores ctx, as bbolt knows none; [kvstore.Store] keeps the deadline.
func (kv *KV) Add(_ context.Context, key string, delta int64, ttl time.Duration) (sum int64, err error) {
	err = kv.db.Update(func(tx *bbolt.Tx) error {
		c, err := kv.live(tx, key)
		if err != nil {
			return err
		}
		c.n = max(0, c.n+delta)
		sum = c.n
		if c.ends == 0 && c.n == 0 {
			return nil // a negative delta creates nothing
		}
		if c.ends == 0 {
			c.ends = kv.now().Add(ttl).UnixNano()
			if err := kv.schedule(tx, key, c.ends); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte(countsBucket)).Put([]byte(key), c.bytes())
	})
	return sum, err
}

const countsBucket = "counts"

// count is one entry of the bucket of counts.
type count struct {
	n    int64
	ends int64 // in Unix nanoseconds; 0 is no entry
}

// live returns the count under key, or none if it has ended.
func (kv *KV) live(tx *bbolt.Tx, key string) (count, error) {
	c, err := parse(tx.Bucket([]byte(countsBucket)).Get([]byte(key)))
	if err != nil || c.ends <= kv.now().UnixNano() {
		return count{}, err
	}
	return c, nil
}

func parse(entry []byte) (count, error) {
	switch len(entry) {
	case 0:
		return count{}, nil
	case 16:
		return count{n: int64(binary.BigEndian.Uint64(entry)), ends: int64(binary.BigEndian.Uint64(entry[8:]))}, nil
	default:
		return count{}, fmt.Errorf("boltkv: %d bytes are no count", len(entry))
	}
}

func (c count) bytes() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(c.n)), uint64(c.ends))
}
