package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestWayOfABatch(t *testing.T) {
	sliding, shadow := limiter.Per(10, time.Minute), limiter.Shadow
	kind := func(a limiter.Algorithm, cost int64) ask {
		return ask{limit: limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: a}, cost: cost}
	}
	one := ask{limit: sliding, cost: 1}
	for _, tc := range []struct {
		name string
		asks []ask
		keys int
		want way
	}{
		{"a sliding window", []ask{one}, 1, windows},
		{"a fixed window", []ask{kind(limiter.FixedWindow, 1)}, 1, windows},
		{"all of a window", []ask{{limit: sliding, cost: 10}}, 1, windows},
		{"more than a window", []ask{{limit: sliding, cost: 11}}, 1, general},
		{"nothing", []ask{{limit: sliding}}, 1, general},
		{"a refund", []ask{{limit: sliding, cost: -1}}, 1, general},
		{"two charges", []ask{one, one}, 2, windows},
		{"two charges on one counter", []ask{one, one}, 1, general},
		{"shadow", []ask{{limit: sliding, cost: 1, mode: shadow}}, 1, windows},
		{"one in shadow beside one enforced", []ask{one, {limit: sliding, cost: 1, mode: shadow}}, 2, windows},
		{"in shadow, and never fits", []ask{{limit: sliding, cost: 11, mode: shadow}}, 1, general},
		{"a peek", []ask{{limit: sliding, cost: 1, mode: limiter.Peek}}, 1, general},
		{"forced", []ask{{limit: sliding, cost: 1, mode: limiter.Force}}, 1, general},
		{"a reset", []ask{{limit: sliding, mode: forget}}, 1, general},
		{"the largest count of a word", []ask{{limit: limiter.PerMinute(1<<24 - 1), cost: 1}}, 1, windows},
		{"more than a word counts", []ask{{limit: limiter.PerMinute(1 << 24), cost: 1}}, 1, general},
		{"a log", []ask{kind(limiter.SlidingLog, 1)}, 1, general},
		{"a log that is only asked", []ask{kind(limiter.SlidingLog, 0)}, 1, general},
		{"a bucket", []ask{kind(limiter.TokenBucket, 1)}, 1, general},
		{"a window and a bucket that is only asked", []ask{one, kind(limiter.TokenBucket, 0)}, 2, windows},
		{"a strict window", []ask{kind(limiter.StrictWindow, 1)}, 1, strict},
		{"two strict windows", []ask{kind(limiter.StrictWindow, 1), kind(limiter.StrictWindow, 1)}, 2, general},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := wayOf(tc.asks, tc.keys); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReadNumbers(t *testing.T) {
	one := ask{place: 1, limit: limiter.PerMinute(10), cost: 1}
	two := []*batch{{keys: []string{"a", "b"}, asks: []ask{one, one}}, {keys: []string{"c"}, asks: []ask{one}}}
	const counts = 3<<countBits + 5
	c := scriptCall{batches: two, outcomes: make([]outcome, len(two))}
	for n, reply := range [][]int64{{}, {7}, {7, 2*counts + 1}, {7, 2*counts + 1, 1}} {
		if err := c.readNumbers(reply); !errors.Is(err, errShortReply) {
			t.Errorf("reply %d, which is too short: got %v, want %v", n, err, errShortReply)
		}
	}
	if err := c.readNumbers([]int64{7, 2*counts + 1, 2*9 + 1, undecided}); err != nil {
		t.Fatal(err)
	}
	o := &c.outcomes[0]
	first, second := o.held(0)
	if other, _ := o.held(1); !o.taken || o.at != 7 || first != 5 || second != 3 || other != 9 {
		t.Errorf("got %+v, which held %d and %d, and %d, want taken at 7, 5 and 3, and 9", o, first, second, other)
	}
	if o := &c.outcomes[1]; !o.undecided || o.taken {
		t.Errorf("got %+v, want it left to general.lua", o)
	}
}

func TestReadValues(t *testing.T) {
	log := ask{place: 1, limit: limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: limiter.SlidingLog}}
	two := []*batch{{keys: []string{"a"}, asks: []ask{log}}, {keys: []string{"b"}, asks: []ask{log}}}
	for _, tc := range []struct {
		name  string
		reply any
		short bool
		ok    bool
	}{
		{"well", []any{int64(7), int64(1), int64(5), int64(3), int64(0), int64(0), int64(-1), "WRONGTYPE"}, false, true},
		{"numbers as text", []any{"7", "1", "5", "3", "0", "0", "-1", "WRONGTYPE"}, false, true},
		{"one too few", []any{int64(7), int64(1), int64(5), int64(3), int64(0), int64(0), int64(-1)}, true, false},
		{"no charges", []any{int64(7), int64(1), int64(5), int64(3), int64(0)}, true, false},
		{"no list", "OK", false, false},
		{"an empty list", []any{}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := scriptCall{batches: two, outcomes: make([]outcome, len(two))}
			err := c.readValues(tc.reply)
			if (err == nil) != tc.ok || errors.Is(err, errShortReply) != tc.short {
				t.Fatalf("got error %v, want one: %v, that says it is too short: %v", err, !tc.ok, tc.short)
			}
			if !tc.ok {
				return
			}
			first, second := c.outcomes[0].held(0)
			if !c.outcomes[0].taken || c.outcomes[0].at != 7 || first != 5 || second != 3 {
				t.Errorf("got %+v, which held %d and %d, want taken at 7, 5 and 3", c.outcomes[0], first, second)
			}
			if other := &c.outcomes[1]; other.err == nil {
				t.Errorf("got %+v, want a fault", other)
			}
		})
	}
}
