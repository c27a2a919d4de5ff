package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/httplimit/httplimit"
)

// Kind is what an [Identity] looks for.
type Kind string

// The kinds of identities. Those that [Kind.Named] reports take a name behind a colon.
const (
	IP       Kind = "ip"       // httplimit.ClientIP, through the policy's trusted proxies
	Everyone Kind = "everyone" // httplimit.Everyone: one bucket for all
	Route    Kind = "route"    // httplimit.Route
	Bearer   Kind = "bearer"   // httplimit.BearerToken
	Basic    Kind = "basic"    // httplimit.BasicUser
	Cert     Kind = "cert"     // httplimit.ClientCert
	APIKey   Kind = "apikey"   // httplimit.APIKey: a header, hashed
	Header   Kind = "header"   // httplimit.Header
	Cookie   Kind = "cookie"   // httplimit.Cookie
	Name     Kind = "name"     // a key of the program's, from Names.Keys
)

// Named reports whether an identity of this kind has a name.
func (k Kind) Named() bool { return k == APIKey || k == Header || k == Cookie || k == Name }

func (k Kind) known() bool {
	return k.Named() || slices.Contains([]Kind{IP, Everyone, Route, Bearer, Basic, Cert}, k)
}

// Identity is one thing that a [Key] looks for in a request.
type Identity struct {
	Kind Kind
	Name string // of the header, the cookie, or in Names.Keys
}

// String returns the text of the identity, such as "ip" or "header:X-User".
func (i Identity) String() string {
	if i.Kind.Named() {
		return string(i.Kind) + ":" + i.Name
	}
	return string(i.Kind)
}

// Key says who is counted. Its text is one identity, several that are composed, "ip + header:X-User", or alternatives
// of which the first that a request has counts, "apikey:X-API-Key | ip". " + " binds closer. The zero Key is none.
type Key struct{ alternatives [][]Identity }

// ParseKey reads the text of a key.
func ParseKey(text string) (Key, error) {
	var k Key
	for alternative := range strings.SplitSeq(text, " | ") {
		var parts []Identity
		for part := range strings.SplitSeq(alternative, " + ") {
			identity, err := parseIdentity(part)
			if err != nil {
				return Key{}, err
			}
			parts = append(parts, identity)
		}
		k.alternatives = append(k.alternatives, parts)
	}
	return k, nil
}

const identities = "ip, everyone, route, bearer, basic, cert, apikey:NAME, header:NAME, cookie:NAME or name:NAME, " +
	`composed by " + " or one after the other by " | "`

func parseIdentity(text string) (Identity, error) {
	kind, name, named := strings.Cut(text, ":")
	i := Identity{Kind(kind), name}
	switch {
	case !i.Kind.known():
		return i, fmt.Errorf("%.64q is no identity, want %s", text, identities)
	case !named && i.Kind.Named():
		return i, fmt.Errorf("%s wants a name behind it: %s:NAME", kind, kind)
	case named && !i.Kind.Named():
		return i, fmt.Errorf("%.64q has a name, want %s alone", text, kind)
	case !named:
		return i, nil
	}
	switch {
	case i.Kind == Name && !isName(name):
		return i, nameFault(name)
	case i.Kind == Cookie && !isToken(name):
		return i, fmt.Errorf("%.64q is not the name of a cookie", name)
	case !isToken(name):
		return i, fmt.Errorf("%.64q is not the name of a header field", name)
	case i.Kind != Cookie && strings.EqualFold(name, "Host"):
		return i, errors.New("a request has no header field Host, want name:NAME with a key of the program")
	}
	return i, nil
}

const maxName = 64

// isName reports whether text is a name by which a policy refers to what a program has.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool {
		return !isLetterOrDigit(r) && !strings.ContainsRune("._-", r)
	})
}

func nameFault(name string) error {
	return fmt.Errorf("%.64q is no name, want 1 to %d letters, digits, '.', '_' and '-'", name, maxName)
}

// isToken reports whether text is the name of a header field or a cookie (RFC 9110, section 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !isLetterOrDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isLetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// Alternatives returns what the key looks for: the alternatives in order, and the identities that each composes.
func (k Key) Alternatives() [][]Identity {
	all := make([][]Identity, len(k.alternatives))
	for i, parts := range k.alternatives {
		all[i] = slices.Clone(parts)
	}
	return all
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return len(k.alternatives) == 0 }

// String returns the text that [ParseKey] reads; "" for the zero Key.
func (k Key) String() string {
	alternatives := make([]string, len(k.alternatives))
	for i, identities := range k.alternatives {
		parts := make([]string, len(identities))
		for j, identity := range identities {
			parts[j] = identity.String()
		}
		alternatives[i] = strings.Join(parts, " + ")
	}
	return strings.Join(alternatives, " | ")
}

// MarshalText implements [encoding.TextMarshaler]: it is String.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]: it is [ParseKey]. After an error k is as it was.
func (k *Key) UnmarshalText(text []byte) error {
	parsed, err := ParseKey(string(text))
	if err == nil {
		*k = parsed
	}
	return err
}

// key returns the key in Go. Its errors name what is not in named.
func (k Key) key(proxies []netip.Prefix, named map[string]httplimit.Key) (httplimit.Key, error) {
	var alternatives []httplimit.Key
	for _, identities := range k.alternatives {
		var parts []httplimit.Key
		for _, identity := range identities {
			part, err := identity.key(proxies, named)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		if len(parts) > 1 {
			parts = []httplimit.Key{httplimit.Compose(parts...)}
		}
		alternatives = append(alternatives, parts...)
	}
	switch len(alternatives) {
	case 0:
		return nil, nil
	case 1:
		return alternatives[0], nil
	}
	return httplimit.FirstOf(alternatives...), nil
}

func (i Identity) key(proxies []netip.Prefix, named map[string]httplimit.Key) (httplimit.Key, error) {
	switch i.Kind {
	case IP:
		return httplimit.ClientIP(proxies...), nil
	case Everyone:
		return httplimit.Everyone(), nil
	case Route:
		return httplimit.Route(), nil
	case Bearer:
		return httplimit.BearerToken(), nil
	case Basic:
		return httplimit.BasicUser(), nil
	case Cert:
		return httplimit.ClientCert(), nil
	case APIKey:
		return httplimit.APIKey(i.Name), nil
	case Header:
		return httplimit.Header(i.Name), nil
	case Cookie:
		return httplimit.Cookie(i.Name), nil
	}
	if key := named[i.Name]; key != nil {
		return key, nil
	}
	return nil, unknownName("Keys", i.Name, named)
}
