package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/httplimit/httplimit/limiter"
)

func counter(key, scope string, a limiter.Algorithm, window time.Duration) *limiter.Charge {
	return &limiter.Charge{Key: key, Scope: scope, Limit: limiter.Limit{Requests: 1, Window: window, Algorithm: a}}
}

func TestKeyOf(t *testing.T) {
	for _, tc := range []struct {
		name   string
		charge *limiter.Charge
		want   string
	}{
		{"an address", counter("192.0.2.7", "shop/ip", limiter.SlidingWindow, time.Minute), "p:{192.0.2.7}:shop/ip:w:1m"},
		{"a masked address", counter("2001:db8:1:2::/64", "ip", limiter.SlidingLog, time.Second),
			"p:{2001:db8:1:2::/64}:ip:l:1s"},
		{"days", counter("k", "s", limiter.FixedWindow, 48*time.Hour), "p:{k}:s:f:2d"},
		{"hours", counter("k", "s", limiter.TokenBucket, 25*time.Hour), "p:{k}:s:b:25h"},
		{"milliseconds", counter("k", "s", limiter.TokenBucket, 1500*time.Millisecond), "p:{k}:s:b:1500ms"},
		{"as long as stands", counter(strings.Repeat("k", 64), "s", limiter.SlidingWindow, time.Hour),
			"p:{" + strings.Repeat("k", 64) + "}:s:w:1h"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := keyOf("p:", tc.charge); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// What callers choose must not make two counters one, and must keep the hash tag what it is.
func FuzzKeyOf(f *testing.F) {
	hash := keyOf("", counter("", "", limiter.SlidingWindow, time.Second))
	for _, s := range []string{
		"", "a", "a:w", "}", "{", "a}:b", "$", "$a", hash, strings.Repeat("x", 65), "a b", "a\x00", "ä", ":w:1s",
	} {
		f.Add(s, "scope", "a", "b")
		f.Add("key", s, "key", "s")
		f.Add(s, "s:w:1s", s+":s", "w:1s")
	}
	f.Fuzz(func(t *testing.T, key, scope, otherKey, otherScope string) {
		one := keyOf("p:", counter(key, scope, limiter.SlidingWindow, time.Second))
		if key != otherKey || scope != otherScope {
			if other := keyOf("p:", counter(otherKey, otherScope, limiter.SlidingWindow, time.Second)); other == one {
				t.Errorf("(%q, %q) and (%q, %q) share the key %s", key, scope, otherKey, otherScope, one)
			}
		}
		for _, different := range []*limiter.Charge{
			counter(key, scope, limiter.FixedWindow, time.Second), counter(key, scope, limiter.SlidingWindow, time.Minute),
		} {
			if other := keyOf("p:", different); other == one || tag(other) != tag(one) {
				t.Errorf("two counters of one client have the keys %s and %s, want different ones of one tag", one, other)
			}
		}
		name := strings.TrimPrefix(one, "p:")
		if !printable(tag(one)) || tag(one) == "" || len(one) > 160 ||
			strings.Count(name, "{") != 1 || strings.Count(name, "}") != 1 {
			t.Errorf("(%q, %q) has the key %q, want one tag and at most 160 bytes", key, scope, one)
		}
	})
}

// tag is the part of a key that decides its slot in a Cluster.
func tag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
