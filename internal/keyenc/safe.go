package keyenc

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// safeHashSize is the number of bytes of a SHA-256 that replace a text which is not safe: 128 bits leave a collision
// out of reach, and keep keys short.
const safeHashSize = 16

// AppendSafe appends s as it is if it is safe: not empty, not longer than max bytes, not beginning with mark, and all
// of it printable ASCII without spaces and without the bytes of reserved. Otherwise it appends mark and 22 characters:
// the first 16 bytes of the SHA-256 of s in base64url without padding. No two texts have the same result.
func AppendSafe(b []byte, s string, max int, mark byte, reserved string) []byte {
	if isSafe(s, max, mark, reserved) {
		return append(b, s...)
	}
	sum := sha256.Sum256([]byte(s))
	return base64.RawURLEncoding.AppendEncode(append(b, mark), sum[:safeHashSize])
}

// AppendSafeHex is [AppendSafe] with the hash in 32 hexadecimal digits.
func AppendSafeHex(b []byte, s string, max int, mark byte, reserved string) []byte {
	if isSafe(s, max, mark, reserved) {
		return append(b, s...)
	}
	sum := sha256.Sum256([]byte(s))
	return hex.AppendEncode(append(b, mark), sum[:safeHashSize])
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
	return !strings.ContainsAny(s, reserved)
}
