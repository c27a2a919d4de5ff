package httplimit

import (
	"bytes"
	"encoding/base64"
	"net/textproto"
	"strings"

	"github.com/httplimit/httplimit/internal/clientip"
)

// BearerToken is the token of "Authorization: Bearer ...". It is a [Secret]: hashed wherever it goes.
//
// A token limits nothing before it has been checked: a client that invents tokens gets a fresh bucket for each.
// Put the limiter behind authentication, with a limit by [ClientIP] in front of it. There is no key unless the
// Authorization line holds the scheme, in any case, and one word of visible ASCII. Two lines that differ are ambiguous,
// see [Key].
//
// The bytes count as they were sent. A JWT has up to 16 spellings that most libraries accept, since decoders of base64
// ignore the last bits, and some authentication accepts more than the one form of the line. Where that matters, the
// subject that authentication has found is the better key, see [ContextValue].
func BearerToken() Key { return Secret(bearerToken{}) }

// APIKey is the value of a header field that holds an API key. It is [Header] with the value hashed, as by [Secret],
// and limits nothing before the key has been checked: see [BearerToken].
func APIKey(header string) Key { return Secret(headerKey{textproto.CanonicalMIMEHeaderKey(header)}) }

// Cookie is the value of a cookie, such as a session, hashed as by [Secret]. Clients can leave cookies out and invent
// them: see [BearerToken]. The bytes count as they were sent: where a framework decodes cookies, as Gin does, one
// session has many spellings, and the identity that authentication found is the better key. Of several cookies of the
// name the first counts, as [http.Request.Cookie] reads it. There is no key if its value is empty.
func Cookie(name string) Key { return Secret(cookie{name}) }

// Header is the value of a header field, in clear. A client writes what it likes into a header, so take one that a
// proxy of yours sets or that has been checked. There is no key if the value is empty. Two lines that differ are
// ambiguous, see [Key]. The values of Authorization, Proxy-Authorization and Cookie are hashed as by [Secret].
func Header(name string) Key {
	name = textproto.CanonicalMIMEHeaderKey(name)
	switch name {
	case "Authorization", "Proxy-Authorization", "Cookie":
		return Secret(headerKey{name})
	}
	return headerKey{name}
}

// BasicUser is the user name of "Authorization: Basic ...", in clear; the password is no part of the key. Where a login
// is limited it has not been checked yet: compose it with [ClientIP], else a stranger can lock a user out, and set
// Rule.Private. There is no key if the name is empty or the field is not well formed. Two lines that differ are
// ambiguous, see [Key].
func BasicUser() Key { return basicUser{} }

type (
	bearerToken struct{}
	headerKey   struct{ name string } // canonical, which saves writing it anew for each request
	cookie      struct{ name string }
	basicUser   struct{}
)

func (bearerToken) sealed() {}
func (headerKey) sealed()   {}
func (cookie) sealed()      {}
func (basicUser) sealed()   {}

func (bearerToken) compile(*keyCompiler, string) keyNode { return newLineKey("Authorization", tokenIn) }
func (basicUser) compile(*keyCompiler, string) keyNode   { return newLineKey("Authorization", userIn) }

func (k headerKey) compile(c *keyCompiler, field string) keyNode {
	switch {
	case !clientip.IsToken(k.name):
		c.fault(field, "%q is not the name of a header field", k.name)
	case strings.EqualFold(k.name, "Host"):
		c.fault(field, "Host is not among the header fields of a request, want a KeyFunc that returns r.Host")
	}
	return newLineKey(k.name, valueIn)
}

func (k cookie) compile(c *keyCompiler, field string) keyNode {
	if !clientip.IsToken(k.name) {
		c.fault(field, "%q is not the name of a cookie", k.name)
	}
	return textKey(k.find)
}

// tokenIn returns the token of an Authorization line.
func tokenIn(line string) (string, error) {
	token, ok := credentials(line, "Bearer")
	if !ok {
		return "", ErrNoKey
	}
	return token, nil
}

// valueIn returns the value of a line as it is.
func valueIn(line string) (string, error) {
	if line == "" {
		return "", ErrNoKey
	}
	return line, nil
}

// find reads cookies as http.Request.Cookie does: the first one of the name whose value is well formed counts. Cookies
// of one name are ordinary, those of another Path or Domain for example.
func (k cookie) find(r Request) (string, error) {
	for _, line := range r.Values("Cookie") {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			name, text, _ := strings.Cut(textproto.TrimString(pair), "=")
			if textproto.TrimString(name) != k.name {
				continue
			}
			if value, ok := cookieValue(text); ok {
				return valueIn(value)
			}
		}
	}
	return "", ErrNoKey
}

// cookieValue returns the value of a cookie without the quotes around it. ok is false if it has a byte that none may
// have (RFC 6265, section 4.1.1; like net/http it takes spaces and commas as well).
func cookieValue(text string) (value string, ok bool) {
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == ';' || c == '\\' {
			return "", false
		}
	}
	return text, true
}

// userIn returns the user name of an Authorization line.
func userIn(line string) (string, error) {
	encoded, ok := credentials(line, "Basic")
	if !ok {
		return "", ErrNoKey
	}
	var from, to [128]byte // longer ones go to the heap
	decoded, err := base64.StdEncoding.AppendDecode(to[:0], append(from[:0], encoded...))
	colon := bytes.IndexByte(decoded, ':')
	if err != nil || colon < 1 {
		return "", ErrNoKey
	}
	return string(decoded[:colon]), nil
}

// credentials returns what follows the scheme in an Authorization line (RFC 9110, section 11.4): one word.
func credentials(line, scheme string) (string, bool) {
	name, rest, _ := strings.Cut(line, " ")
	word := strings.TrimLeft(rest, " ")
	if !strings.EqualFold(name, scheme) || word == "" {
		return "", false
	}
	for i := range len(word) {
		if word[i] <= ' ' || word[i] > '~' {
			return "", false
		}
	}
	return word, true
}
