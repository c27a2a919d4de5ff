package boltkv

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// endsBucket holds every key once more, after the moment at which its count ends, so that the earliest come first. A
// database that expires entries by itself needs none of this.
const endsBucket = "ends"

// sweepEach is the number of ended counts that a new one removes: more than one, so that the database shrinks again
// after a flood of keys.
const sweepEach = 2

// schedule records when a new count ends, and removes some counts that have ended. Nothing else removes counts.
func (kv *KV) schedule(tx *bbolt.Tx, key string, ends int64) error {
	for range sweepEach {
		if err := kv.sweep(tx); err != nil {
			return err
		}
	}
	entry := append(binary.BigEndian.AppendUint64(nil, uint64(ends)), key...)
	return tx.Bucket([]byte(endsBucket)).Put(entry, nil)
}

// sweep removes the count that ends first, if it has ended.
func (kv *KV) sweep(tx *bbolt.Tx) error {
	entry, _ := tx.Bucket([]byte(endsBucket)).Cursor().First()
	if entry == nil || int64(binary.BigEndian.Uint64(entry)) > kv.now().UnixNano() {
		return nil
	}
	key := string(entry[8:])
	if err := tx.Bucket([]byte(endsBucket)).Delete(entry); err != nil {
		return err
	}
	// A key whose count has ended may have a new one.
	if c, err := kv.live(tx, key); err != nil || c.ends != 0 {
		return err
	}
	return tx.Bucket([]byte(countsBucket)).Delete([]byte(key))
}
