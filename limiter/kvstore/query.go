package kvstore

import (
	"context"
	"fmt"
)

// query collects keys to be read in one call.
type query struct {
	keys []string
	into []*int64
}

func (q *query) ask(c *counter, number int64, into *int64) {
	q.keys = append(q.keys, windowKey(c.base, number))
	q.into = append(q.into, into)
}

// run reads the counts and tells whether one of them is not what was there.
func (q *query) run(ctx context.Context, kv KV) (moved bool, err error) {
	if len(q.keys) == 0 {
		return false, nil
	}
	counts, err := kv.Get(ctx, q.keys...)
	if err != nil {
		return false, err
	}
	if len(counts) != len(q.keys) {
		return false, fmt.Errorf("kvstore: the KV's Get of %d keys returned %d counts", len(q.keys), len(counts))
	}
	for i, count := range counts {
		moved = moved || *q.into[i] != count
		*q.into[i] = count
	}
	return moved, nil
}
