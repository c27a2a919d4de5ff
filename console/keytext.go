package console

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// keyText is a key of a store as far as a person can read it.
type keyText struct {
	Parts  []string `json:"parts,omitempty"` // the identities; none where the key is a hash
	Hashed bool     `json:"hashed,omitempty"`
	Note   string   `json:"note,omitempty"` // what kind of key it is, where that is not the rule's own
}

// String is the identities, or the hash.
func (t keyText) String() string { return strings.Join(t.Parts, " + ") }

// readKey reads the key of a store: see package keyenc for how they are written. key and noKey are the texts of the
// rule's Key and NoKey, which tell whether ':' joins parts; "" where they are not known.
func readKey(stored, key, noKey string) (t keyText) {
	var notes []string
	for isMark(stored) {
		mark, rest, _ := strings.Cut(stored, ":")
		notes = append(notes, noteOf(mark))
		switch all := alternatives(key); {
		case mark == "%N":
			key = noKey
		case len(all) > 1:
			if i, err := strconv.Atoi(mark[2:]); err == nil && 0 < i && i <= len(all) {
				key = all[i-1]
			}
		}
		stored = rest
	}
	t.Note = strings.Join(notes, ", ")
	switch {
	case strings.HasPrefix(stored, "#"):
		t.Hashed, t.Parts = true, []string{stored}
	case len(outside(key, " + ")) > 1:
		for _, part := range strings.Split(stored, ":") {
			if !isMark(part) {
				t.Parts = append(t.Parts, readable(part))
			}
		}
	case stored != "":
		t.Parts = []string{readable(stored)}
	}
	return t
}

// isMark reports whether a text begins with a mark: '%' and a letter beyond F, which no escaped byte does.
func isMark(s string) bool { return len(s) > 1 && s[0] == '%' && !isHex(s[1]) }

// alternatives returns the texts of the keys of a FirstOf; of any other key its own.
func alternatives(key string) []string { return outside(key, " | ") }

// outside splits the text of a key where sep stands outside of all parentheses.
func outside(key, sep string) (parts []string) {
	depth, from := 0, 0
	for i := range len(key) {
		switch key[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 && i >= from && strings.HasPrefix(key[i:], sep) {
			parts = append(parts, key[from:i])
			from = i + len(sep)
		}
	}
	return append(parts, key[from:])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' }

func noteOf(mark string) string {
	switch {
	case mark == "%P":
		return "preflight"
	case mark == "%N":
		return "without identity, by NoKey"
	case mark == "%U":
		return "without any identity"
	case mark == "%M":
		return "ambiguous identity"
	case strings.HasPrefix(mark, "%K"):
		return "alternative " + mark[2:]
	}
	return "marked " + mark
}

// readable is a part of a stored key as a person wrote it: it undoes %XX where that gives text that can be printed, and
// leaves the rest as it is. Control characters and those that change the direction of writing are no part of it.
func readable(part string) string {
	raw := make([]byte, 0, len(part))
	for i := 0; i < len(part); i++ {
		if part[i] == '%' && i+2 < len(part) && isHex(part[i+1]) && isHex(part[i+2]) {
			raw = append(raw, unhex(part[i+1])<<4|unhex(part[i+2]))
			i += 2
		} else {
			raw = append(raw, part[i])
		}
	}
	return printable(string(raw))
}

// printable returns a text with %XX in place of what cannot be printed.
func printable(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && size <= 1 || !unicode.IsPrint(r) {
			for _, c := range []byte(text[:size]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'A' + 10
}
