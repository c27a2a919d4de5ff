package boltkv

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

// endsBucket holds every key once more, behind the moment in which its count ends, so that the earliest come first.
// A database that lets entries expire by itself needs none of this.
const endsBucket = "ends"

// sweepEach is how many ended counts a new one removes: more than one, so that the database does not only stop
// growing but falls back to what lives.
const sweepEach = 2

// schedule enters when a new count ends, and in exchange removes some that have ended: nothing else has to sweep.
func (kv *KV) schedule(tx *bbolt.Tx, key string, ends int64) error {
	for range sweepEach {
		if err := kv.sweep(tx); err != nil {
			return err
		}
	}
	entry := append(binary.BigEndian.AppendUint64(nil, uint64(ends)), key...)
	return tx.Bucket([]byte(endsBucket)).Put(entry, nil)
}

// sweep removes the count that was to end first, if it has.
func (kv *KV) sweep(tx *bbolt.Tx) error {
	entry, _ := tx.Bucket([]byte(endsBucket)).Cursor().First()
	if entry == nil || int64(binary.BigEndian.Uint64(entry)) > kv.now().UnixNano() {
		return nil
	}
	key := string(entry[8:])
	if err := tx.Bucket([]byte(endsBucket)).Delete(entry); err != nil {
		return err
	}
	// A key that ended before it was swept may have begun anew.
	if c, err := kv.live(tx, key); err != nil || c.ends != 0 {
		return err
	}
	return tx.Bucket([]byte(countsBucket)).Delete([]byte(key))
}
