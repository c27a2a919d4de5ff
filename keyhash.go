package httplimit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strconv"
	"sync"
)

// A hashed key is '#' and 22 characters: base64url, without padding, of the first 16 bytes of a hash over
//
//	label 0x00 item item ...
//
// An item is a mark as it stands, which begins with '%', or an identity: its length in decimal, ':', its bytes. So
// no two lists of items are the same message. With a KeySecret the hash is HMAC-SHA-256 under it and the label
// "rlkey/v1"; without one it is SHA-256 and the label "rlkey/sha-v1". 128 bits leave a collision out of reach even of
// somebody who tries 2^50 identities, and keep keys short.
const (
	labelHMAC  = "rlkey/v1\x00"
	labelSHA   = "rlkey/sha-v1\x00"
	hashedSize = 16
)

// maxPooled is the longest message buffer that is kept for the next key. Nearly all are shorter than 100 bytes; one
// client's long header shall not stay in memory for ever.
const maxPooled = 4 << 10

// keyHasher makes hashed keys. Safe for concurrent use.
type keyHasher struct {
	secret []byte // nil: SHA-256
	pool   sync.Pool
}

type keyHashState struct {
	mac     hash.Hash // nil: SHA-256
	message []byte
	sum     [sha256.Size]byte
}

func newKeyHasher(secret []byte) *keyHasher {
	h := &keyHasher{secret: append([]byte(nil), secret...)}
	h.pool.New = func() any {
		if len(h.secret) == 0 {
			return &keyHashState{}
		}
		return &keyHashState{mac: hmac.New(sha256.New, h.secret)}
	}
	return h
}

// keyed tells whether there is a KeySecret, so that every key is hashed.
func (h *keyHasher) keyed() bool { return len(h.secret) > 0 }

func (h *keyHasher) key(items []keyItem) string {
	state := h.pool.Get().(*keyHashState)
	if state.mac != nil {
		state.message = appendMessage(append(state.message[:0], labelHMAC...), items)
		state.mac.Reset()
		state.mac.Write(state.message)
		state.mac.Sum(state.sum[:0])
	} else {
		state.message = appendMessage(append(state.message[:0], labelSHA...), items)
		state.sum = sha256.Sum256(state.message)
	}
	var text [1 + (hashedSize*8+5)/6]byte
	text[0] = '#'
	base64.RawURLEncoding.Encode(text[1:], state.sum[:hashedSize])
	if cap(state.message) > maxPooled {
		state.message = nil
	}
	h.pool.Put(state)
	return string(text[:])
}

func appendMessage(b []byte, items []keyItem) []byte {
	for _, item := range items {
		switch found := item.found; {
		case item.mark != "":
			b = append(b, item.mark...)
		case found.network.IsValid():
			var room [maxAddress]byte
			b = appendPart(b, found.append(room[:0]))
		default:
			b = appendPart(b, found.text)
		}
	}
	return b
}

func appendPart[T string | []byte](b []byte, part T) []byte {
	b = strconv.AppendInt(b, int64(len(part)), 10)
	b = append(b, ':')
	return append(b, part...)
}
