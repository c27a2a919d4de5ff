package kvstore

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/httplimit/httplimit/limiter"
)

// A key is scope|key|algorithm and window in milliseconds|number of the window, at most 180 bytes: short enough for
// memcached's 250 with a prefix.
const (
	separator = '|'
	hashMark  = '*' // begins a part that was hashed, and none that was not

	maxScope = 50
	maxKey   = 100
)

// keyBase is what the keys of all windows of a counter begin with. Two counters never have the same.
func keyBase(c *limiter.Charge) string {
	b := make([]byte, 0, maxScope+maxKey+20)
	b = appendPart(b, c.Scope, maxScope)
	b = appendPart(b, c.Key, maxKey)
	if c.Limit.Algorithm == limiter.FixedWindow {
		b = append(b, 'f')
	} else {
		b = append(b, 's')
	}
	b = strconv.AppendInt(b, c.Limit.WindowMillis(), 10)
	return string(append(b, separator))
}

// windowKey is where the count of one window lies.
func windowKey(base string, number int64) string {
	return base + strconv.FormatInt(number, 10)
}

// appendPart writes part as it is while it is short and harmless, so that operators can read it, and else 128 bits
// of its SHA-256.
func appendPart(b []byte, part string, longest int) []byte {
	if isPlain(part, longest) {
		return append(append(b, part...), separator)
	}
	sum := sha256.Sum256([]byte(part))
	b = append(b, hashMark)
	b = hex.AppendEncode(b, sum[:16])
	return append(b, separator)
}

func isPlain(part string, longest int) bool {
	if len(part) > longest || (part != "" && part[0] == hashMark) {
		return false
	}
	for i := range len(part) {
		if part[i] <= ' ' || part[i] > '~' || part[i] == separator {
			return false
		}
	}
	return true
}
