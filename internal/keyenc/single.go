package keyenc

import "net/netip"

// MaxLen is the length in bytes above which a key is hashed. memcached takes keys of 250 bytes, and a store adds its
// prefix, the scope and the window to ours.
const MaxLen = 128

// IsKey reports whether text is the plain form of its own key where it is all of the key: it has no escapes and is not
// too long. A [Builder] writes the others.
func IsKey(text string) bool {
	if len(text) > MaxLen {
		return false
	}
	for i := range len(text) {
		if !isPlain(text[i], false) {
			return false
		}
	}
	return true
}

// maxNetwork is the length of the longest text of a network: 39 characters, '/', and three digits.
const maxNetwork = 43

// Network returns the key of a network where that is all of the key.
func Network(network netip.Prefix) string {
	var buf [maxNetwork]byte
	return string(appendNetwork(buf[:0], network))
}

// appendNetwork writes a network, and that of a single address without its length.
func appendNetwork(b []byte, network netip.Prefix) []byte {
	if network.IsSingleIP() {
		return network.Addr().AppendTo(b)
	}
	return network.AppendTo(b)
}
