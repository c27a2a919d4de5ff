package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestAsksFast(t *testing.T) {
	sliding := limiter.Per(10, time.Minute)
	kind := func(a limiter.Algorithm) []ask {
		return []ask{{limit: limiter.Limit{Requests: 10, Window: time.Minute, Algorithm: a}, cost: 1}}
	}
	for _, tc := range []struct {
		name string
		asks []ask
		want bool
	}{
		{"a sliding window", []ask{{limit: sliding, cost: 1}}, true},
		{"a fixed window", kind(limiter.FixedWindow), true},
		{"all of a window", []ask{{limit: sliding, cost: 10}}, true},
		{"more than a window", []ask{{limit: sliding, cost: 11}}, false},
		{"nothing", []ask{{limit: sliding}}, false},
		{"a refund", []ask{{limit: sliding, cost: -1}}, false},
		{"two charges", []ask{{limit: sliding, cost: 1}, {limit: sliding, cost: 1}}, false},
		{"shadow", []ask{{limit: sliding, cost: 1, mode: limiter.Shadow}}, false},
		{"a reset", []ask{{limit: sliding, mode: forget}}, false},
		{"the largest count of a word", []ask{{limit: limiter.PerMinute(1<<24 - 1), cost: 1}}, true},
		{"more than a word counts", []ask{{limit: limiter.PerMinute(1 << 24), cost: 1}}, false},
		{"a log", kind(limiter.SlidingLog), false},
		{"a bucket", kind(limiter.TokenBucket), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := asksFast(tc.asks); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReadReply(t *testing.T) {
	log := ask{place: 1, limit: limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: limiter.SlidingLog}}
	two := []*batch{{keys: []string{"a"}, asks: []ask{log}}, {keys: []string{"b"}, asks: []ask{log}}}
	const counts = 3<<countBits + 5
	for _, tc := range []struct {
		name  string
		fast  bool
		reply any
		short bool
		ok    bool
	}{
		{"fast", true, []any{int64(7), int64(2*counts + 1), int64(undecided)}, false, true},
		{"fast, numbers as text", true, []any{"7", "100663307", "-1"}, false, true},
		{"fast, one too few", true, []any{int64(7), int64(2*counts + 1)}, true, false},
		{"general", false,
			[]any{int64(7), int64(1), int64(5), int64(3), int64(0), int64(0), int64(-1), "WRONGTYPE"}, false, true},
		{"fast, denied without the reason", true, []any{int64(7), int64(2*counts + 1), int64(denied)}, true, false},
		{"general, one too few", false,
			[]any{int64(7), int64(1), int64(5), int64(3), int64(0), int64(0), int64(-1)}, true, false},
		{"general, no charges", false, []any{int64(7), int64(1), int64(5), int64(3), int64(0)}, true, false},
		{"no list", true, "OK", false, false},
		{"an empty list", false, []any{}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := scriptCall{batches: two, outcomes: make([]outcome, len(two))}
			err := c.read(tc.reply, tc.fast)
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
			if other := &c.outcomes[1]; other.undecided != tc.fast || (other.err == nil) != tc.fast {
				t.Errorf("got %+v, want left to general.lua: %v, or a fault", other, tc.fast)
			}
		})
	}
}
