package keyenc

// appendPlain writes the items in plain form. fits is false if that takes more than MaxLen bytes.
func appendPlain(b []byte, items []item) (text []byte, fits bool) {
	joint := false
	for i := range items {
		it := &items[i]
		if joint {
			b = append(b, ':')
		}
		joint = it.mark == ""
		b = append(b, it.mark...)
		if it.network.IsValid() {
			var buf [maxNetwork]byte
			b = appendEscaped(b, appendNetwork(buf[:0], it.network), it.composed)
		} else {
			b = appendEscaped(b, it.text, it.composed)
		}
		if len(b) > MaxLen {
			return b, false
		}
	}
	return b, true
}

// appendEscaped writes every byte that is not plain as %XX. It stops above MaxLen bytes, whatever is left.
func appendEscaped[T string | []byte](b []byte, text T, composed bool) []byte {
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(text) && len(b) <= MaxLen; i++ {
		if c := text[i]; isPlain(c, composed) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&0xF])
		}
	}
	return b
}

// isPlain reports whether c stands unescaped: what is unreserved, and ':' and '/' in a key that is not composed.
func isPlain(c byte, composed bool) bool {
	return Unreserved(c) || (c == ':' || c == '/') && !composed
}

// Unreserved reports whether c is an unreserved character of RFC 3986, section 2.3.
func Unreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', c == '-', c == '.', c == '_', c == '~':
		return true
	}
	return false
}
