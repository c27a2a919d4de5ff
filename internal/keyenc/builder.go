package keyenc

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"net/netip"
	"strconv"
	"sync"
)

// Marks stand before the identities whose kind they say. They begin with '%' and a letter beyond F: no escaped byte
// looks like that, nor does an identity in the message of a hash, which begins with its length.
const (
	MarkPreflight = "%P:" // of CORS preflights, before all others
	MarkNoKey     = "%N:" // found in place of the identity that is missing
	MarkNobody    = "%U"  // nothing was found in its place either
	MarkAmbiguous = "%M"  // the identity stands there more than once, with different values
	markBranch    = "%K"  // then the number of the alternative, from 1, and markEnd
	markEnd       = ":"
)

// MarkAlternative returns the mark of the i-th of several alternatives, from 0.
func MarkAlternative(i int) string { return markBranch + strconv.Itoa(i+1) + markEnd }

// Builder collects the marks and identities of one key from left to right, and writes the key. It comes from a
// [Pool] and belongs to one goroutine.
type Builder struct {
	items   []item
	mac     hash.Hash // nil: SHA-256
	message []byte
	sum     [sha256.Size]byte
}

// item is one step of a key: a mark or an identity, which is a text or, if it is valid, a network.
type item struct {
	mark     string
	text     string
	network  netip.Prefix
	composed bool // one of several parts, so that it must not hold their separator
	constant bool // the same for all requests
}

// Mark adds a mark.
func (b *Builder) Mark(mark string) { b.items = append(b.items, item{mark: mark}) }

// Text adds an identity that is a text. composed is true where it is one of the parts of a key, even the only one.
func (b *Builder) Text(text string, composed bool) {
	b.items = append(b.items, item{text: text, composed: composed})
}

// Network adds an identity that is a network of addresses.
func (b *Builder) Network(network netip.Prefix, composed bool) {
	b.items = append(b.items, item{network: network, composed: composed})
}

// Constant adds the identity that all requests have. It is the empty text, but nothing that a request lacks.
func (b *Builder) Constant(composed bool) {
	b.items = append(b.items, item{composed: composed, constant: true})
}

// Empty reports whether identities were looked for after the first n marks and identities, and all are empty texts.
func (b *Builder) Empty(n int) bool {
	looked := false
	for i := range b.items[n:] {
		switch it := &b.items[n+i]; {
		case it.text != "" || it.network.IsValid():
			return false
		case it.mark == "" && !it.constant:
			looked = true
		}
	}
	return looked
}

// Len returns how many marks and identities were added.
func (b *Builder) Len() int { return len(b.items) }

// Truncate removes all but the first n marks and identities.
func (b *Builder) Truncate(n int) { b.items = b.items[:n] }

// Key returns the key. It is hashed if it is to be secret, if the Pool has a secret, or if its plain form is too long.
func (b *Builder) Key(secret bool) string {
	if !secret && b.mac == nil {
		var buf [MaxLen]byte
		if text, fits := appendPlain(buf[:0], b.items); fits {
			return string(text)
		}
	}
	return b.hash()
}

// maxPooled is the longest message buffer that is kept for the next key. Nearly all are shorter than 100 bytes; a
// client's long header must not stay in memory forever.
const maxPooled = 4 << 10

// Pool keeps Builders for the requests to come. Safe for concurrent use.
type Pool struct {
	secret   []byte // empty: none
	builders sync.Pool
}

// NewPool returns a Pool whose keys are hashed under secret, or without one if it is empty.
func NewPool(secret []byte) *Pool { return &Pool{secret: bytes.Clone(secret)} }

// Keyed reports whether there is a secret, so that every key is hashed.
func (p *Pool) Keyed() bool { return len(p.secret) > 0 }

// Get returns an empty Builder.
func (p *Pool) Get() *Builder {
	if b, ok := p.builders.Get().(*Builder); ok {
		return b
	}
	b := &Builder{}
	if p.Keyed() {
		b.mac = hmac.New(sha256.New, p.secret)
	}
	return b
}

// Release takes a Builder back and clears what it holds of the request.
func (p *Pool) Release(b *Builder) {
	clear(b.items[:cap(b.items)]) // Truncate leaves items behind the end
	b.items = b.items[:0]
	clear(b.message)
	b.message = b.message[:0]
	if cap(b.message) > maxPooled {
		b.message = nil
	}
	p.builders.Put(b)
}
