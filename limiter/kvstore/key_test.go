package kvstore

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func TestKeys(t *testing.T) {
	sliding, fixed := limiter.PerMinute(1), limiter.Limit{Requests: 1, Window: time.Minute, Algorithm: limiter.FixedWindow}
	for _, tc := range []struct {
		scope, key string
		limit      limiter.Limit
		want       string
	}{
		{"api/default", "192.0.2.7", sliding, "api/default|192.0.2.7|s60000|28000000"},
		{"api/default", "2001:db8:1:2::/64", fixed, "api/default|2001:db8:1:2::/64|f60000|28000000"},
		{"", "", sliding, "||s60000|28000000"},
		{"a rule", "k", sliding, "*-KBiUo1yqDKv4QvD2FWnfA|k|s60000|28000000"},
		{"s", "*", sliding, "s|*aEiIwOuxfzdCmLZe4oB1Jg|s60000|28000000"},
	} {
		got := windowKey(keyBase(&limiter.Charge{Scope: tc.scope, Key: tc.key, Limit: tc.limit}), 28_000_000)
		if got != tc.want {
			t.Errorf("%q, %q, %v:\n got %s\nwant %s", tc.scope, tc.key, tc.limit, got, tc.want)
		}
	}
}

func TestKeysDiffer(t *testing.T) {
	long := strings.Repeat("x", 200)
	names := []string{
		"", "a", "b", "a|b", "|", "a|", "|a", "*", "**", "*0", "a b", "a\x00b", "ä",
		long, long + "x", strings.Repeat("x", maxKey), strings.Repeat("x", maxScope),
		"*-KBiUo1yqDKv4QvD2FWnfA", "s60000", "s60000|1", "f",
	}
	limits := []limiter.Limit{
		limiter.PerMinute(1), limiter.PerHour(1), limiter.Per(1, time.Millisecond),
		{Requests: 1, Window: time.Minute, Algorithm: limiter.FixedWindow},
	}
	seen := map[string]string{}
	for _, scope := range names {
		for _, key := range names {
			for _, limit := range limits {
				for _, number := range []int64{0, 1, 10, 60000, math.MaxInt64} {
					got := windowKey(keyBase(&limiter.Charge{Scope: scope, Key: key, Limit: limit}), number)
					counter := fmt.Sprintf("%q %q %v %d", scope, key, limit, number)
					if other, ok := seen[got]; ok {
						t.Errorf("%s and %s have the same key %q", counter, other, got)
					}
					seen[got] = counter
				}
			}
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("scope", "key", "other", "key")
	f.Add("a|b", "c", "a", "b|c")
	f.Add("*", strings.Repeat("k", 101), "", "\x7f")
	f.Fuzz(func(t *testing.T, scope1, key1, scope2, key2 string) {
		limit := limiter.Per(1, 366*24*time.Hour)
		one := windowKey(keyBase(&limiter.Charge{Scope: scope1, Key: key1, Limit: limit}), 1e13)
		two := windowKey(keyBase(&limiter.Charge{Scope: scope2, Key: key2, Limit: limit}), 1e13)
		if same := scope1 == scope2 && key1 == key2; (one == two) != same {
			t.Errorf("keys %q and %q of equal counters: %v", one, two, same)
		}
		if len(one) > 190 {
			t.Errorf("%d bytes: %q, want at most 190", len(one), one)
		}
		for i := range len(one) {
			if one[i] <= ' ' || one[i] > '~' {
				t.Errorf("byte %#x in %q", one[i], one)
			}
		}
	})
}
