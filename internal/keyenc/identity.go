package keyenc

import "net/netip"

// MaxLen is the length in bytes above which a key is hashed. memcached takes keys of 250 bytes, and a store adds its
// prefix, the scope and the window to ours.
const MaxLen = 128

// maxNetwork is the length of the longest text of a network: 39 characters, '/', and three digits.
const maxNetwork = 43

// Identity is what was found in a request: a text, or a network whose text has not been written yet.
type Identity struct {
	text    string
	plain   bool         // text is known to need no escapes
	network netip.Prefix // if valid it stands for text
}

// Text returns the identity of any text.
func Text(text string) Identity { return Identity{text: text} }

// PlainText returns the identity of a text that is known to need no escapes and to have at most MaxLen bytes, such as
// an IPv4 address.
func PlainText(text string) Identity { return Identity{text: text, plain: true} }

// Network returns the identity of a network of addresses, or of an address if it holds only one.
func Network(network netip.Prefix) Identity { return Identity{network: network} }

// Key returns the plain form of the identity if it is all of the key. ok is false if that has escapes or is too long.
// It allocates only for a network.
func (id *Identity) Key() (key string, ok bool) {
	switch {
	case id.network.IsValid():
		var buf [maxNetwork]byte
		return string(id.appendNetwork(buf[:0])), true
	case id.plain:
		return id.text, true
	case len(id.text) > MaxLen:
		return "", false
	}
	for i := range len(id.text) {
		if !isPlain(id.text[i], false) {
			return "", false
		}
	}
	return id.text, true
}

func (id *Identity) appendNetwork(b []byte) []byte {
	if id.network.IsSingleIP() {
		return id.network.Addr().AppendTo(b)
	}
	return id.network.AppendTo(b)
}
