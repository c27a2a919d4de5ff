package httplimit

import "net/netip"

// maxKey is the length in bytes above which a key is hashed. memcached takes keys of 250 bytes, and a store adds its
// prefix, the scope and the window to ours.
const maxKey = 128

// maxAddress is the length of the longest address bucket: 39 characters, '/', and three digits.
const maxAddress = 43

// Marks stand before the identities that they tell apart. They begin with '%' and a letter beyond F: no escaped byte
// looks like that, and no identity that is hashed, since that begins with its length.
const (
	markBranch = "%K"  // FirstOf: then the number of the key that answered, from 1
	markNoKey  = "%N:" // what NoKey found
	markNobody = "%U"  // NoKey found nobody either
	markEnd    = ":"
)

// identity is what a finder found: a text, or an address bucket that has no text yet.
type identity struct {
	text    string
	plain   bool         // text is known to be a key as it stands
	network netip.Prefix // if valid it stands for text
}

// keyItem is one step of a key from left to right: a mark or an identity.
type keyItem struct {
	mark     string
	found    identity
	composed bool // one of the parts of a Compose
}

// alone is the key of the identity alone, if it needs neither escapes nor a hash. It costs a string only for the text
// of a network.
func (v *identity) alone() (key string, ok bool) {
	switch {
	case v.network.IsValid():
		var room [maxAddress]byte
		return string(v.append(room[:0])), true
	case v.plain:
		return v.text, true
	case len(v.text) > maxKey:
		return "", false
	}
	for i := range len(v.text) {
		if !isPlain(v.text[i], false) {
			return "", false
		}
	}
	return v.text, true
}

// append writes the identity as it was found.
func (v *identity) append(b []byte) []byte {
	switch {
	case !v.network.IsValid():
		return append(b, v.text...)
	case v.network.IsSingleIP():
		return v.network.Addr().AppendTo(b)
	}
	return v.network.AppendTo(b)
}

// appendPlain writes the items in clear: identities escaped, the parts of a Compose joined by ':'. fits is false if
// that takes more than maxKey bytes.
func appendPlain(b []byte, items []keyItem) (text []byte, fits bool) {
	joint := false
	for i := range items {
		item := &items[i]
		if joint {
			b = append(b, ':')
		}
		joint = item.mark == ""
		b = append(b, item.mark...)
		if found := &item.found; found.network.IsValid() {
			var room [maxAddress]byte
			b = appendEscaped(b, found.append(room[:0]), item.composed)
		} else {
			b = appendEscaped(b, found.text, item.composed)
		}
		if len(b) > maxKey {
			return b, false
		}
	}
	return b, true
}

// appendEscaped writes every byte that is not plain as %XX. It stops above maxKey bytes, whatever is left.
func appendEscaped[T string | []byte](b []byte, text T, composed bool) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(text) && len(b) <= maxKey; i++ {
		if c := text[i]; isPlain(c, composed) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&0xF])
		}
	}
	return b
}

// isPlain tells whether c stands unescaped: the unreserved characters of RFC 3986, section 2.3, and ':' and '/' in
// a key that is not composed.
func isPlain(c byte, composed bool) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', c == '-', c == '.', c == '_', c == '~':
		return true
	}
	return (c == ':' || c == '/') && !composed
}
