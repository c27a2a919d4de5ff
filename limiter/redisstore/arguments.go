package redisstore

import (
	"slices"

	"github.com/httplimit/httplimit/limiter"
)

// arguments writes a call of the script as script/head.lua describes it.
func arguments(name, which string, batches []*batch, hint int64) []any {
	keys := 0
	for _, b := range batches {
		keys += len(b.keys)
	}
	args := make([]any, 0, keys+16)
	args = append(args, name, which, keys)
	for _, b := range batches {
		for _, key := range b.keys {
			args = append(args, key)
		}
	}
	args = append(args, hint)
	for len(batches) > 0 {
		asks := batches[0].asks
		length := 1
		for length < len(batches) && slices.Equal(batches[length].asks, asks) {
			length++
		}
		args = append(args, length)
		if usual(asks) {
			l := &asks[0].limit
			args = append(args, 0, uint8(l.Algorithm), l.Window.Milliseconds(), l.Requests, asks[0].cost)
		} else {
			args = appendShape(args, batches[0])
		}
		batches = batches[length:]
	}
	return args
}

// usual tells whether a batch is of the kind for which the script has straight code: one enforced charge on a window.
func usual(asks []ask) bool {
	if len(asks) != 1 || asks[0].mode != limiter.Enforce || asks[0].cost <= 0 {
		return false
	}
	a := asks[0].limit.Algorithm
	return a == limiter.SlidingWindow || a == limiter.FixedWindow
}

func appendShape(args []any, b *batch) []any {
	args = append(args, len(b.keys), len(b.asks))
	for i := range b.asks {
		a := &b.asks[i]
		args = append(args, a.place, uint8(a.limit.Algorithm), a.limit.Window.Milliseconds(), a.limit.Requests, a.limit.Capacity(),
			a.cost, uint8(a.mode), a.refundTo)
	}
	return args
}
