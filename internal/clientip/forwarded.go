package clientip

import "strings"

// A Forwarded line (RFC 7239, section 4) is a list of elements separated by ',', an element is pairs separated by ';',
// and a pair is a token, '=' and a value, which may be a quoted string with either separator in it. Proxies copy Host,
// which the client writes, into host=; so a parser that splits at commas believes the client.
//
// A line is read from the right: a proxy appends its element, and whatever stands left of it, such as a quote that a
// client has left open, must not change where that element begins. What a proxy writes into quotes it has to escape
// (RFC 9110, section 5.6.4): where one copies quotes as they are, nobody can tell its elements from its client's.

// lastUnquotedComma returns the index of the last ',' outside quoted strings, or -1 if there is none, or none right of
// a quote that belongs to no quoted string.
func lastUnquotedComma(line string) int {
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ',':
			return i
		case '"':
			if i = openingQuote(line[:i]); i < 1 || line[i-1] != '=' {
				return -1
			}
		}
	}
	return -1
}

// openingQuote returns the index of the quote that opens a quoted string whose text s ends with, or -1. It is the last
// one that is not escaped: a quote inside the string follows its backslash, the opening one '='.
func openingQuote(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '"' && (i == 0 || s[i-1] != '\\') {
			return i
		}
	}
	return -1
}

// quotedLength returns the length of the quoted string that s begins with, both quotes included; 0 if it does not end.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// forwardedFor returns the value of the one for= of an element. ok is false if there is none or more than
// one, or if a pair is not well formed. Beyond the grammar it takes spaces around ';' and, without quotes, the
// brackets and colons of addresses, which many proxies write.
func forwardedFor(element string) (value string, ok bool) {
	for {
		element = strings.TrimLeft(element, " \t;")
		if element == "" {
			return value, ok
		}
		name, rest, _ := strings.Cut(element, "=")
		text, rest, valid := forwardedValue(rest)
		if !IsToken(name) || !valid {
			return "", false
		}
		if strings.EqualFold(name, "for") {
			if ok {
				return "", false
			}
			value, ok = text, true
		}
		element = rest
	}
}

// forwardedValue cuts the value of a pair from what follows '='. rest is empty or begins with ';'.
func forwardedValue(s string) (value, rest string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		end := quotedLength(s)
		if end == 0 {
			return "", "", false
		}
		value, rest = unescape(s[1:end-1]), strings.TrimLeft(s[end:], " \t")
		return value, rest, rest == "" || rest[0] == ';'
	}
	if end := strings.IndexByte(s, ';'); end >= 0 {
		s, rest = s[:end], s[end:]
	}
	value = strings.TrimRight(s, " \t")
	for i := range len(value) {
		if !isTokenByte(value[i]) && strings.IndexByte("[]:", value[i]) < 0 {
			return "", "", false
		}
	}
	return value, rest, value != ""
}

// unescape removes the backslashes from the text of a quoted string.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}
