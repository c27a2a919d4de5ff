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
// Put the limiter behind authentication, with a limit by [ClientIP] in front of it. There is no key unless exactly one
// Authorization line holds the scheme, in any case, and one word of visible ASCII.
func BearerToken() Key { return Secret(bearerToken{}) }

// APIKey is the value of a header field that holds an API key. It is [Header] with the value hashed, as by [Secret],
// and limits nothing before the key has been checked: see [BearerToken].
func APIKey(header string) Key { return Secret(headerKey{textproto.CanonicalMIMEHeaderKey(header)}) }

// Cookie is the value of a cookie, such as a session, hashed as by [Secret]. Clients can leave cookies out and invent
// them: see [BearerToken]. The bytes count as they were sent: where a framework decodes cookies, as Gin does, one
// session has many spellings, and the identity that authentication found is the better key. There is no key if the
// value is empty or two cookies have the name.
func Cookie(name string) Key { return Secret(cookie{name}) }

// Header is the value of a header field, in clear. A client writes what it likes into a header, so take one that a
// proxy of yours sets or that has been checked. There is no key if the value is empty or the field has two lines.
// The values of Authorization, Proxy-Authorization and Cookie are hashed as by [Secret].
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
// Rule.Private. There is no key if the name is empty or the field is not well formed.
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

func (k bearerToken) compile(*keyCompiler, string) keyNode { return textKey(k.find) }
func (k basicUser) compile(*keyCompiler, string) keyNode   { return textKey(k.find) }

func (k headerKey) compile(c *keyCompiler, field string) keyNode {
	switch {
	case !clientip.IsToken(k.name):
		c.fault(field, "%q is not the name of a header field", k.name)
	case strings.EqualFold(k.name, "Host"):
		c.fault(field, "Host is not among the header fields of a request, want a KeyFunc that returns r.Host")
	}
	return textKey(k.find)
}

func (k cookie) compile(c *keyCompiler, field string) keyNode {
	if !clientip.IsToken(k.name) {
		c.fault(field, "%q is not the name of a cookie", k.name)
	}
	return textKey(k.find)
}

func (bearerToken) find(r Request) (string, error) {
	token, ok := credentials(r, "Bearer")
	if !ok {
		return "", ErrNoKey
	}
	return token, nil
}

func (k headerKey) find(r Request) (string, error) {
	lines := r.Values(k.name)
	if len(lines) != 1 || lines[0] == "" {
		return "", ErrNoKey
	}
	return lines[0], nil
}

func (k cookie) find(r Request) (string, error) {
	value, seen := "", false
	for _, line := range r.Values("Cookie") {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			name, text, _ := strings.Cut(pair, "=")
			if strings.Trim(name, " \t") != k.name {
				continue
			}
			if seen {
				return "", ErrNoKey // handlers disagree on which of the two is the session
			}
			value, seen = strings.Trim(text, " \t"), true
		}
	}
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		value = value[1 : len(value)-1] // as http.Request.Cookie reads it: quoted or not, it is one session
	}
	if value == "" {
		return "", ErrNoKey
	}
	return value, nil
}

func (basicUser) find(r Request) (string, error) {
	encoded, ok := credentials(r, "Basic")
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

// credentials returns what follows the scheme in the one Authorization line (RFC 9110, section 11.4): one word.
func credentials(r Request, scheme string) (string, bool) {
	lines := r.Values("Authorization")
	if len(lines) != 1 {
		return "", false
	}
	name, rest, _ := strings.Cut(lines[0], " ")
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
