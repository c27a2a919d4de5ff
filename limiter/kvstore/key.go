package kvstore

import (
	"strconv"
	"strings"

	"github.com/httplimit/httplimit/limiter"
	"github.com/httplimit/httplimit/limiter/storekit"
)

// A key is scope|key|algorithm and window in milliseconds|number of the window, at most 180 bytes: short enough for
// memcached's 250 with a prefix.
const (
	separator = "|"
	hashMark  = '*' // begins a scope or key that was hashed, and no other

	maxScope = 50
	maxKey   = 100
)

// keyBase returns the beginning of the keys of all windows of a counter. Two counters never have the same.
func keyBase(c *limiter.Charge) string {
	b := make([]byte, 0, maxScope+maxKey+20)
	b = appendName(b, c.Scope, maxScope)
	b = appendName(b, c.Key, maxKey)
	if c.Limit.Algorithm == limiter.FixedWindow {
		b = append(b, 'f')
	} else {
		b = append(b, 's')
	}
	b = strconv.AppendInt(b, c.Limit.Window.Milliseconds(), 10)
	return string(append(b, separator...))
}

// key returns the key of c as it stands in base.
func (c *counter) key() string {
	_, rest, _ := strings.Cut(c.base, separator)
	key, _, _ := strings.Cut(rest, separator)
	return key
}

// windowKey returns the key of the count of one window.
func windowKey(base string, number int64) string {
	return base + strconv.FormatInt(number, 10)
}

// appendName appends a scope or key and a separator. A short, printable name stands as it is, so that operators can
// read it, and an empty one stays empty.
func appendName(b []byte, name string, max int) []byte {
	if name != "" {
		b = storekit.AppendName(b, name, max, hashMark, separator)
	}
	return append(b, separator...)
}
