package storekit

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// nameHashSize is how many bytes of a SHA-256 replace a text that is not safe: 128 bits leave a collision out of reach,
// and keep names short.
const nameHashSize = 16

// AppendName appends a scope or a key to the name of a counter: as it is if it is safe, so that operators can read it,
// else as a hash. A text is safe if it is not empty, has at most max bytes, does not begin with mark, and is all
// printable ASCII without spaces and without the bytes of reserved. A hash is mark and 22 characters: 128 bits of the
// SHA-256 of s in base64url. No two texts have the same result, but for a collision of hashes.
func AppendName(name []byte, s string, max int, mark byte, reserved string) []byte {
	if isSafe(s, max, mark, reserved) {
		return append(name, s...)
	}
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.AppendEncode(append(name, mark), sum[:nameHashSize])
}

func isSafe(s string, max int, mark byte, reserved string) bool {
	if s == "" || len(s) > max || s[0] == mark {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	for i := range len(reserved) { // half the time of strings.ContainsAny
		if strings.IndexByte(s, reserved[i]) >= 0 {
			return false
		}
	}
	return true
}
