package httplimit

import (
	"bytes"
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

// keyDraft is a key in the making. It belongs to one goroutine.
type keyDraft struct {
	items   []keyItem
	mac     hash.Hash // nil: SHA-256
	message []byte
	sum     [sha256.Size]byte
}

// hash writes the items as a hashed key.
func (d *keyDraft) hash() string {
	if d.mac != nil {
		d.message = appendMessage(append(d.message[:0], labelHMAC...), d.items)
		d.mac.Reset()
		d.mac.Write(d.message)
		d.mac.Sum(d.sum[:0])
	} else {
		d.message = appendMessage(append(d.message[:0], labelSHA...), d.items)
		d.sum = sha256.Sum256(d.message)
	}
	var text [1 + (hashedSize*8+5)/6]byte
	text[0] = '#'
	base64.RawURLEncoding.Encode(text[1:], d.sum[:hashedSize])
	return string(text[:])
}

// draftPool keeps drafts for the requests to come. Safe for concurrent use.
type draftPool struct {
	secret []byte // the KeySecret; empty: none
	pool   sync.Pool
}

func newDraftPool(keySecret []byte) *draftPool { return &draftPool{secret: bytes.Clone(keySecret)} }

// keyed tells whether there is a KeySecret, so that every key is hashed.
func (p *draftPool) keyed() bool { return len(p.secret) > 0 }

func (p *draftPool) take() *keyDraft {
	if d, ok := p.pool.Get().(*keyDraft); ok {
		return d
	}
	d := &keyDraft{}
	if p.keyed() {
		d.mac = hmac.New(sha256.New, p.secret)
	}
	return d
}

// give takes a draft back and drops what it holds of the request.
func (p *draftPool) give(d *keyDraft) {
	clear(d.items[:cap(d.items)]) // a FirstOf that fell back leaves what it found behind their end
	d.items = d.items[:0]
	clear(d.message)
	d.message = d.message[:0]
	if cap(d.message) > maxPooled {
		d.message = nil
	}
	p.pool.Put(d)
}

func appendMessage(b []byte, items []keyItem) []byte {
	for i := range items {
		switch found := &items[i].found; {
		case items[i].mark != "":
			b = append(b, items[i].mark...)
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
