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

	"github.com/httplimit/httplimit/cmd/httplimit/internal/accesslog"
)

// anonymizer replaces what says who somebody is. Equal identities have equal names within one run, and other ones in
// the next: under a secret that nobody knows, as all IPv4 addresses are soon tried.
type anonymizer struct {
	secret []byte
	known  map[string]bool // users, and values of the requests' headers, that the log has told; in lower case
}

// maxKnown bounds what is looked for in paths and agents.
const maxKnown = 1_000_000

func newAnonymizer() *anonymizer {
	a := &anonymizer{secret: make([]byte, 32), known: map[string]bool{}}
	_, _ = rand.Read(a.secret) // never fails
	return a
}

// client returns the name that stands for a key.
func (a *anonymizer) client(key string) string {
	m := hmac.New(sha256.New, a.secret)
	m.Write([]byte(key))
	return "client-" + hex.EncodeToString(m.Sum(nil)[:5])
}

// note remembers who a request says that it comes from.
func (a *anonymizer) note(e *accesslog.Entry) {
	a.noteName(e.User)
	for _, f := range e.Header {
		switch name := strings.ToLower(f.Name); {
		case name == "cookie":
			for one := range strings.SplitSeq(f.Value, ";") {
				_, value, _ := strings.Cut(one, "=")
				a.noteName(strings.TrimSpace(value))
			}
		case name == "authorization":
			_, token, _ := strings.Cut(f.Value, " ")
			a.noteName(token)
		case !ordinary.MatchString(name):
			a.noteName(f.Value)
		}
	}
}

// ordinary are the fields of a header whose values are no identities, and are often words that paths have.
var ordinary = regexp.MustCompile(`^(accept|access-control|cache-|connection$|content-|dnt$|if-|keep-alive$|origin$|` +
	`pragma$|priority$|range$|referer$|sec-|te$|upgrade|user-agent$|via$)`)

func (a *anonymizer) noteName(name string) {
	if name == "" || len(name) > maxText || a.known[name] || len(a.known) >= maxKnown {
		return
	}
	a.known[strings.Clone(strings.ToLower(name))] = true
}

// path returns a path without its query and what says who somebody is: addresses, users, and what has been a key.
func (a *anonymizer) path(path string, isKey func(string) bool) string {
	whole := len(path) < maxText
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		plain := s
		for range 3 {
			if decoded, err := url.PathUnescape(plain); err == nil {
				plain = decoded
			}
		}
		cut := i == len(segments)-1 && !whole // of an address too, perhaps
		if cut || a.isKnown(plain) || isKey(plain) || strings.Contains(plain, "=") ||
			plain != s && a.text(plain) != plain {
			segments[i] = "x"
		}
	}
	return a.text(strings.Join(segments, "/"))
}

// isKnown reports whether a text is a known name, alone or with something before or behind it, as in "~alice",
// "alice.json" and "user:alice".
func (a *anonymizer) isKnown(text string) bool {
	text = strings.ToLower(text)
	if a.known[text] {
		return true
	}
	begin := 0 // of the present word
	for i := range len(text) {
		if strings.IndexByte(".,:;~+*!$&|@'()[]{} /", text[i]) < 0 {
			continue
		}
		if a.known[text[begin:i]] || a.known[text[:i]] || a.known[text[i+1:]] {
			return true
		}
		begin = i + 1
	}
	return a.known[text[begin:]]
}

var (
	word        = regexp.MustCompile(`[^\s/();,"'<>]+`)
	addressLike = regexp.MustCompile(`[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|` +
		`\b[0-9]{1,3}(?:-[0-9]{1,3}){3}\b`)
)

// agent returns a user agent without what says who somebody is.
func (a *anonymizer) agent(agent string) string {
	if len(agent) >= maxText {
		agent = agent[:strings.LastIndexByte(agent, ' ')+1]
	}
	return a.text(word.ReplaceAllStringFunc(agent, func(one string) string {
		if a.isKnown(one) {
			return "x"
		}
		return one
	}))
}

// text returns a text without what looks like an address, an e-mail address or a query.
func (a *anonymizer) text(s string) string {
	s, _, _ = strings.Cut(s, "?")
	return a.addresses(word.ReplaceAllStringFunc(s, func(one string) string {
		if strings.Contains(one, "@") || strings.Contains(strings.ToLower(one), "%40") {
			return "x"
		}
		return one
	}))
}

func (a *anonymizer) addresses(s string) string {
	return addressLike.ReplaceAllStringFunc(s, func(found string) string {
		if strings.Count(found, ".") >= 3 || strings.Count(found, "-") == 3 {
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
