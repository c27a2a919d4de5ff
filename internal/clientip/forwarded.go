package clientip

import "strings"

// A Forwarded line (RFC 7239, section 4) is a list of elements separated by ',', an element is pairs separated by ';',
// and a pair is a token, '=' and a value, which may be a quoted string with either separator in it. Proxies copy Host,
// which the client writes, into host=; so a parser that splits at commas believes the client.

// wellQuoted reports whether every quoted string of a line follows a '=' and ends. Else it is uncertain where the
// elements of the line begin. Other faults of an element concern that element alone.
func wellQuoted(line string) bool {
	for {
		quote := strings.IndexByte(line, '"')
		if quote < 0 {
			return true
		}
		if quote == 0 || line[quote-1] != '=' {
			return false
		}
		length := quotedLength(line[quote:])
		if length == 0 {
			return false
		}
		line = line[quote+length:]
	}
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

// lastUnquotedComma returns the index of the last ',' outside quoted strings in a line that is well quoted, or -1.
//
// It reads backwards, so that a walk reads a line twice at most, however long a client has made it. From a closing
// quote the opening one is the nearest that is not escaped: a quote inside follows its backslash, the opening one '='.
func lastUnquotedComma(line string) int {
	quoted := false
	for i := len(line) - 1; i >= 0; i-- {
		switch {
		case line[i] == '"' && !quoted:
			quoted = true
		case line[i] == '"' && line[i-1] != '\\':
			quoted = false
		case line[i] == ',' && !quoted:
			return i
		}
	}
	return -1
}

// forwardedFor returns the value of the one for= of a well-quoted element. ok is false if there is none or more than
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
