package keyenc

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
)

// A hashed key is '#' and 22 characters: base64url, without padding, of the first 16 bytes of a hash over
//
//	label 0x00 item item ...
//
// An item is a mark as it stands, which begins with '%', or an identity: its length in decimal, ':', its bytes. So
// no two lists of items are the same message. With a secret the hash is HMAC-SHA-256 under it and the label
// "rlkey/v1"; without one it is SHA-256 and the label "rlkey/sha-v1". 128 bits leave a collision out of reach even of
// an attacker who tries 2^50 identities, and keep keys short.
const (
	labelHMAC  = "rlkey/v1\x00"
	labelSHA   = "rlkey/sha-v1\x00"
	hashedSize = 16
)

func (b *Builder) hash() string {
	if b.mac != nil {
		b.message = appendMessage(append(b.message[:0], labelHMAC...), b.items)
		b.mac.Reset()
		b.mac.Write(b.message)
		b.mac.Sum(b.sum[:0])
	} else {
		b.message = appendMessage(append(b.message[:0], labelSHA...), b.items)
		b.sum = sha256.Sum256(b.message)
	}
	var text [1 + (hashedSize*8+5)/6]byte
	text[0] = '#'
	base64.RawURLEncoding.Encode(text[1:], b.sum[:hashedSize])
	return string(text[:])
}

func appendMessage(b []byte, items []item) []byte {
	for i := range items {
		switch it := &items[i]; {
		case it.mark != "":
			b = append(b, it.mark...)
		case it.network.IsValid():
			var buf [maxNetwork]byte
			b = appendPart(b, appendNetwork(buf[:0], it.network))
		default:
			b = appendPart(b, it.text)
		}
	}
	return b
}

func appendPart[T string | []byte](b []byte, part T) []byte {
	b = strconv.AppendInt(b, int64(len(part)), 10)
	b = append(b, ':')
	return append(b, part...)
}
