package redisstore

import (
	"strconv"
	"strings"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

const (
	// maxReadable is how long a key or scope may be to stand as it is. Addresses and account numbers are shorter; every
	// byte is paid for once per client in the server's memory.
	maxReadable = 64

	hashMark = '$'  // begins what is hashed
	braces   = "{}" // bound the hash tag of a key
)

// keyOf returns the name of a counter: prefix{key}:scope:algorithm:window. The braces make a Cluster keep all counters
// of one key in one slot. Two counters never share a name: only the last two fields can hold neither braces nor colons
// of their caller's choice, and hashes begin with a mark that nothing else begins with.
func keyOf(prefix string, c *limiter.Charge) string {
	name := make([]byte, 0, 128)
	name = append(name, prefix...)
	name = append(name, '{')
	name = storekit.AppendName(name, c.Key, maxReadable, hashMark, braces)
	name = append(name, '}', ':')
	name = storekit.AppendName(name, c.Scope, maxReadable, hashMark, braces)
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

func letter(a limiter.Algorithm) byte {
	switch a {
	case limiter.SlidingLog:
		return 'l'
	case limiter.FixedWindow:
		return 'f'
	case limiter.TokenBucket:
		return 'b'
	case limiter.StrictWindow:
		return 's'
	default:
		return 'w'
	}
}

// printable reports whether s is ASCII without spaces, control characters and braces.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return !strings.ContainsAny(s, braces)
}
