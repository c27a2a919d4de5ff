package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/algorithm"
)

// The request. A call is EVALSHA or EVAL of one script, with these KEYS and ARGV:
//
//	KEYS  the counters of the batches, batch after batch; a counter of two batches stands twice
//	ARGV  hint, then for each run of batches that ask the same how many they are, and what they ask:
//	      windows.lua  a letter for each charge, behind a question mark if the counters are to be read first; and for
//	                   each charge window, requests, cost
//	      strict.lua   window, requests, cost
//	      general.lua  number of keys, number of charges, and for each charge: place of its key in the batch, kind,
//	                   window, requests, capacity, cost, mode, moment to refund to (0: none)
//
// The hint is the latest time that this process knows of the server. Kinds and modes are numbered as in package
// limiter, and forget is one more mode; the letters are those of keys, capital in shadow. Times are Unix milliseconds,
// windows milliseconds, places begin at 1.
//
// The reply is the server's time, then for each batch, in their order:
//
//	windows.lua  one number for each charge: twice what its counter held before the batch (previous * 2^24 + current),
//	             plus 1 if the batch was taken; or -1 if the script left the batch alone, for general.lua to decide
//	strict.lua   one number: 512 times the units in use, plus 1 if the batch was taken, else plus 32 times a and twice
//	             b: a part a before the present one has to leave for the charge to fit, and the newest part with units
//	             in it is b before the present one; or -1
//	general.lua  1 (taken) or 0; for each key two numbers, which say what it held before the batch: the current and
//	             the previous count of a window, the debt of a bucket, the units and the newest moment of a log, or
//	             the units in use of a StrictWindow and, as one text, those of its parts, see general.lua; and
//	             for each charge of a log two moments: when the unit was taken for which it waits, 0 if it fits, and
//	             when the newest unit was taken that is left after a refund, else 0.
//	             For a batch of which a key cannot be read or written, two values instead: minus the place of the
//	             key, and the error, which is empty if neither script wrote what the key holds.
const (
	undecided = -1
	countBits = 24
	faultSize = 2 // values
)

var errShortReply = errors.New("redisstore: the reply of the script is too short")

// arguments returns the words of the request.
func (c *scriptCall) arguments(script *script, hint int64) []any {
	keys := 0
	for _, b := range c.batches {
		keys += len(b.keys)
	}
	args := make([]any, 0, keys+16)
	if c.source {
		args = append(args, "eval", script.source, keys)
	} else {
		args = append(args, "evalsha", script.digest, keys)
	}
	for _, b := range c.batches {
		for _, key := range b.keys {
			args = append(args, key)
		}
	}
	args = append(args, hint)
	for batches := c.batches; len(batches) > 0; {
		first, run := batches[0], 1
		for run < len(batches) && first.asksAlike(batches[run]) {
			run++
		}
		args = append(args, run)
		switch c.way {
		case windows:
			args = first.appendWindows(args)
		case strict:
			a := &first.asks[0]
			args = append(args, a.limit.Window.Milliseconds(), a.limit.Requests, a.cost)
		default:
			args = first.appendAsks(args)
		}
		batches = batches[run:]
	}
	return args
}

func (b *batch) appendWindows(args []any) []any {
	letters := make([]byte, 0, 8)
	if b.readsFirst() {
		letters = append(letters, '?')
	}
	for i := range b.asks {
		l := letter(b.asks[i].limit.Algorithm)
		if b.asks[i].mode == limiter.Shadow {
			l -= 'a' - 'A'
		}
		letters = append(letters, l)
	}
	args = append(args, string(letters))
	for i := range b.asks {
		a := &b.asks[i]
		args = append(args, a.limit.Window.Milliseconds(), a.limit.Requests, a.cost)
	}
	return args
}

func (b *batch) appendAsks(args []any) []any {
	args = append(args, len(b.keys), len(b.asks))
	for i := range b.asks {
		a := &b.asks[i]
		args = append(args, a.place, uint8(a.limit.Algorithm), a.limit.Window.Milliseconds(), a.limit.Requests,
			a.limit.Capacity(), a.cost, uint8(a.mode), a.refundTo)
	}
	return args
}

// outcome is what the server answered to a batch.
type outcome struct {
	at        int64   // the server's time, in Unix milliseconds
	numbers   []int64 // of windows.lua and strict.lua: their part of the reply
	values    []any   // of general.lua: its part of the reply
	place     int     // of a fault: that of its key in the batch, from 0
	err       error
	taken     bool // the server spent the batch
	undecided bool // the batch is left to general.lua
	again     bool // the batch was certainly not decided, and may be soon
	answered  bool // the server answered, and err is about this batch alone
	unknown   bool // the batch may have been spent
}

// readNumbers gives each batch of a call of windows.lua or strict.lua its part of the reply.
func (c *scriptCall) readNumbers(reply []int64) error {
	if len(reply) == 0 {
		return errShortReply
	}
	at, rest := reply[0], reply[1:]
	for i, b := range c.batches {
		size := len(b.asks)
		if len(rest) < size {
			return errShortReply
		}
		c.outcomes[i] = outcome{
			at: at, numbers: rest[:size:size], taken: rest[0]&1 == 1 && rest[0] > 0, undecided: rest[0] == undecided,
		}
		rest = rest[size:]
	}
	return nil
}

// readValues gives each batch of a call of general.lua its part of the reply.
func (c *scriptCall) readValues(reply any) error {
	values, ok := reply.([]any)
	if !ok || len(values) == 0 {
		return fmt.Errorf("redisstore: the reply of the script is a %T, want a list", reply)
	}
	at := number(values[0])
	values = values[1:]
	for i, b := range c.batches {
		if len(values) == 0 {
			return errShortReply
		}
		first := number(values[0])
		size := b.replySize(first)
		if len(values) < size {
			return errShortReply
		}
		if first < 0 {
			c.outcomes[i] = fault(at, int(-first-1), values[1])
		} else {
			c.outcomes[i] = outcome{at: at, values: values[:size:size], taken: first == 1}
		}
		values = values[size:]
	}
	return nil
}

// number returns a number of a reply. Servers with other Lua versions write whole numbers as text.
func number(value any) int64 {
	switch v := value.(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// replySize returns how many values general.lua answers to the batch, which the first of them says.
func (b *batch) replySize(first int64) int {
	if first < 0 {
		return faultSize
	}
	size := 1 + 2*len(b.keys)
	for i := range b.asks {
		if b.asks[i].limit.Algorithm == limiter.SlidingLog {
			size += 2
		}
	}
	return size
}

// held returns what the key at a place, here from 0, held before the batch.
func (o *outcome) held(place int) (first, second int64) {
	if o.values == nil {
		counts := o.numbers[place] >> 1
		return counts & (1<<countBits - 1), counts >> countBits
	}
	return number(o.values[1+2*place]), number(o.values[2+2*place])
}

// errForeign is for a key with a value of another type or form. It does not name the key, which is a client.
var errForeign = errors.New("what a key holds was not written by this store; Reset deletes it")

// denials begin the errors by which a server denies every write and answers reads: it is full, a replica, misses its
// replicas, or cannot save.
var denials = []string{"OOM ", "READONLY ", "NOREPLICAS ", "MISCONF "}

// fault returns the outcome of a batch that was not decided although the script ran.
func fault(at int64, place int, reply any) outcome {
	text := fmt.Sprint(reply)
	if text == "" || strings.Contains(text, "WRONGTYPE") {
		return outcome{at: at, place: place, err: errForeign, answered: true}
	}
	for _, word := range denials {
		// Some servers write the line of the script in front.
		if _, rest, found := strings.Cut(text, word); found {
			err := fmt.Errorf("redisstore: the server denies writes: %w", errorReply(word+rest))
			return outcome{at: at, place: place, err: err, answered: true, again: redis.IsReadOnlyError(err)}
		}
	}
	err := fmt.Errorf("redisstore: a key of the batch cannot be used: %w", errorReply(text))
	return outcome{at: at, place: place, err: err}
}

// locate adds to the error of a value that the store did not write where that is, without the key.
func (b *batch) locate(err error, charges []limiter.Charge) error {
	if err != errForeign {
		return err
	}
	c := &charges[slices.Index(b.of, b.outcome.place)]
	return fmt.Errorf("redisstore: %v of scope %q: %w", c.Limit, c.Scope, err)
}

// errorReply returns an error of the type that go-redis has for error replies, and does not name.
func errorReply(text string) error { return like(redis.ErrNoScript, text) }

func like[T ~string](_ T, text string) T { return T(text) }

// read turns the outcome into usages.
func (b *batch) read(charges []limiter.Charge) error {
	if b.outcome.err != nil {
		return b.outcome.err
	}
	b.usages = b.usages[:0]
	for i := range charges {
		if b.of[i] == len(b.usages) {
			b.usages = append(b.usages, b.usage(&charges[i], b.of[i]))
		}
	}
	b.moments = moments{outcome: &b.outcome, first: 1 + 2*len(b.keys)}
	b.moments.rewind()
	return nil
}

// usage returns what the counter of c held before the batch, whose key has that place in it, here from 0.
func (b *batch) usage(c *limiter.Charge, place int) (u algorithm.Usage) {
	at, l := b.outcome.at, c.Limit
	if l.Algorithm == limiter.StrictWindow {
		u.LoadStrict(&l, at, b.outcome.parts(c, place))
		return u
	}
	first, second := b.outcome.held(place)
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

// moments are the last part of an outcome, two for each charge of a log; 0 where a moment is not asked for.
type moments struct {
	outcome     *outcome
	first, next int // places in the outcome's values
}

// rewind is for a batch that is decided twice.
func (m *moments) rewind() { m.next = m.first }

// TakenAt returns the next moment: general.lua and algorithm.Decide judge in the same order, and ask for moments in the
// same cases.
func (m *moments) TakenAt(int64) int64 {
	for ; m.next < len(m.outcome.values); m.next++ {
		if moment := number(m.outcome.values[m.next]); moment != 0 {
			m.next++
			return moment
		}
	}
	return m.outcome.at
}
