package replay

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// anonymizer replaces what says who somebody is. Equal identities have equal names within one run, and other ones in
// the next: under a secret that nobody knows, as all IPv4 addresses are soon tried.
type anonymizer struct {
	secret []byte
	users  map[string]bool // that the log has told
}

// maxUsers bounds the users that are looked for in paths.
const maxUsers = 1_000_000

func newAnonymizer() *anonymizer {
	a := &anonymizer{secret: make([]byte, 32), users: map[string]bool{}}
	_, _ = rand.Read(a.secret) // never fails
	return a
}

// client returns the name that stands for a key.
func (a *anonymizer) client(key string) string {
	m := hmac.New(sha256.New, a.secret)
	m.Write([]byte(key))
	return "client-" + hex.EncodeToString(m.Sum(nil)[:5])
}

// note remembers a user.
func (a *anonymizer) note(user string) {
	if user != "" && !a.users[user] && len(a.users) < maxUsers {
		a.users[strings.Clone(user)] = true
	}
}

// path returns a path without its query and what says who somebody is: addresses, users, and what has been a key.
func (a *anonymizer) path(path string, isKey func(string) bool) string {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil {
			plain = s
		}
		name := strings.TrimPrefix(plain, "~")
		if a.users[name] || isKey(name) || plain != s && a.text(plain) != plain {
			segments[i] = "x"
		}
	}
	return a.text(strings.Join(segments, "/"))
}

var addressLike = regexp.MustCompile(`[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+`)

// text returns a text without what looks like an address, an e-mail address or a query.
func (a *anonymizer) text(s string) string {
	s, _, _ = strings.Cut(s, "?")
	words := strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == ' ' })
	for _, word := range words {
		if strings.ContainsAny(word, "@") || strings.Contains(strings.ToLower(word), "%40") {
			s = strings.ReplaceAll(s, word, "x")
		}
	}
	return a.addresses(s)
}

func (a *anonymizer) addresses(s string) string {
	return addressLike.ReplaceAllStringFunc(s, func(found string) string {
		if strings.Count(found, ".") >= 3 {
			return "x.x.x.x"
		}
		if _, err := netip.ParseAddr(strings.Trim(found, ".")); err == nil || strings.Count(found, ":") > 3 {
			return "x:x"
		}
		return found
	})
}

// HideAddresses returns a text without what looks like an address.
func HideAddresses(text string) string { return (&anonymizer{}).addresses(text) }
