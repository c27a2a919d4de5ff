package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

var errShortReply = errors.New("redisstore: the reply of the script is too short")

// outcome is what the server answered to a batch.
type outcome struct {
	at     int64 // the server's time, in Unix milliseconds
	values []any // the part of the reply that is about the batch
	err    error
	again  bool // the batch was certainly not decided, and may be soon
}

// An outcome begins with a number: below 0 it is a fault, 0 or 1 whether the batch was taken, and from usualReply on it
// is all that the usual way tells: plus 1 if taken, plus twice previous x 2^24 + current.
const (
	usualReply = 2
	fieldBits  = 24
)

// taken tells whether the server spent the batch.
func (o *outcome) taken() bool { return o.number(0)&1 == 1 }

// held is what the key at a place held before the batch.
func (o *outcome) held(place int) (first, second int64) {
	if v := o.number(0); v >= usualReply {
		counts := (v - usualReply) / 2
		return counts & (1<<fieldBits - 1), counts >> fieldBits
	}
	return o.number(1 + 2*place), o.number(2 + 2*place)
}

// number is a value of the reply. Servers with other Lua versions write whole numbers as text.
func (o *outcome) number(i int) int64 {
	switch v := o.values[i].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// faultSize is how many values the script answers to a batch of which it cannot read a key: minus the place of the
// key, and the error.
const faultSize = 2

// split gives each batch its part of a reply.
func split(reply any, batches []*batch, outcomes []outcome) error {
	values, ok := reply.([]any)
	if !ok || len(values) == 0 {
		return fmt.Errorf("redisstore: the reply of the script is a %T, want a list", reply)
	}
	head := outcome{values: values}
	at := head.number(0)
	values = values[1:]
	for i, b := range batches {
		if len(values) == 0 {
			return errShortReply
		}
		o := outcome{at: at, values: values}
		size := b.replySize(o.number(0))
		if len(values) < size {
			return errShortReply
		}
		o.values, values = values[:size:size], values[size:]
		outcomes[i] = o
	}
	return nil
}

// replySize is how many values the script answers to the batch, told by the first of them.
func (b *batch) replySize(first int64) int {
	switch {
	case first < 0:
		return faultSize
	case first >= usualReply:
		return 1
	}
	size := 1 + 2*len(b.keys)
	for i := range b.asks {
		if b.asks[i].limit.Algorithm == limiter.SlidingLog {
			size += 2
		}
	}
	return size
}

// read turns the outcome into usages.
func (b *batch) read(charges []limiter.Charge) error {
	o := &b.outcome
	if o.err != nil {
		return o.err
	}
	if place := o.number(0); place < 0 {
		return faultOf(b.keys[-place-1], o.values[1])
	}
	b.usages = b.usages[:0]
	for i := range charges {
		if b.of[i] == len(b.usages) {
			first, second := o.held(b.of[i])
			b.usages = append(b.usages, b.usage(charges[i].Limit, first, second))
		}
	}
	b.moments = moments{outcome: o, first: 1 + 2*len(b.keys)}
	b.moments.rewind()
	return nil
}

// faultOf is the error of a key that could not be read; text is the server's, or empty for a value that the script
// did not write.
func faultOf(key string, text any) error {
	if text == "" || strings.Contains(fmt.Sprint(text), "WRONGTYPE") {
		return fmt.Errorf("redisstore: what key %q holds was not written by this store; Reset deletes it", key)
	}
	return fmt.Errorf("redisstore: key %q cannot be read: %v", key, text)
}

func (b *batch) usage(l limiter.Limit, first, second int64) (u algorithm.Usage) {
	at := b.outcome.at
	switch l.Algorithm {
	case limiter.TokenBucket:
		u.LoadBucket(&l, at, at, first)
	case limiter.SlidingLog:
		u.LoadLog(at, first, second, &b.moments)
	default:
		u.LoadWindow(&l, at, at/l.Window.Milliseconds(), first, second)
	}
	return u
}

// moments are the last part of an outcome: for each charge of a log the moment that it waits for, and when the newest
// unit was taken that is left after a refund; 0 where that is not asked.
type moments struct {
	outcome     *outcome
	first, next int // places in the outcome's values
}

// rewind is for a batch that is decided twice.
func (m *moments) rewind() { m.next = m.first }

// TakenAt returns the next moment: the script and algorithm.Decide judge in the same order, and ask for moments in the
// same cases.
func (m *moments) TakenAt(int64) int64 {
	for ; m.next < len(m.outcome.values); m.next++ {
		if moment := m.outcome.number(m.next); moment != 0 {
			m.next++
			return moment
		}
	}
	return m.outcome.at
}
