package redisstore

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/httplimit/httplimit/limiter"
)

const (
	// longestReadable is how long a key or scope may be to stand as it is. Addresses and account numbers are shorter;
	// every byte is paid for once per client in the server's memory.
	longestReadable = 64

	// hashed marks what does not stand as it is.
	hashed = '$'
)

// keyOf names a counter: prefix{key}:scope:algorithm:window. The braces make a cluster keep all counters of one key
// in one slot. Two counters never share a name: only the last two fields can hold neither braces nor colons of their
// caller's choice, and what is hashed is told from what is not.
func keyOf(prefix string, c *limiter.Charge) string {
	name := make([]byte, 0, 128)
	name = append(name, prefix...)
	name = append(name, '{')
	name = appendTame(name, c.Key)
	name = append(name, '}', ':')
	name = appendTame(name, c.Scope)
	name = append(name, ':', letter(c.Limit.Algorithm), ':')
	return string(appendWindow(name, c.Limit.Window.Milliseconds()))
}

// appendWindow appends the window in the largest unit that divides it, as package limiter writes it.
func appendWindow(name []byte, ms int64) []byte {
	unit, divisor := "ms", int64(1)
	switch {
	case ms%86_400_000 == 0:
		unit, divisor = "d", 86_400_000
	case ms%3_600_000 == 0:
		unit, divisor = "h", 3_600_000
	case ms%60_000 == 0:
		unit, divisor = "m", 60_000
	case ms%1000 == 0:
		unit, divisor = "s", 1000
	}
	return append(strconv.AppendInt(name, ms/divisor, 10), unit...)
}

// appendTame appends s as it is if that is safe, else 128 bits of its SHA-256.
func appendTame(name []byte, s string) []byte {
	if readable(s) {
		return append(name, s...)
	}
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.AppendEncode(append(name, hashed), sum[:16])
}

// readable tells whether s may stand in a key. An empty one may not: an empty tag is none to a cluster.
func readable(s string) bool {
	if len(s) == 0 || len(s) > longestReadable || s[0] == hashed {
		return false
	}
	return printable(s)
}

// printable tells whether s is ASCII without spaces, control characters and braces.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '{' || c == '}' {
			return false
		}
	}
	return true
}

func letter(a limiter.Algorithm) byte {
	switch a {
	case limiter.SlidingLog:
		return 'l'
	case limiter.FixedWindow:
		return 'f'
	case limiter.TokenBucket:
		return 'b'
	default:
		return 'w'
	}
}
