package httplimit

import (
	"errors"
	"net/http"
	"slices"

	"github.com/httplimit/httplimit/internal/keyenc"
)

// Key says which client a request is counted for. A limit is only as good as its key: an identity that the client can
// choose freely limits nothing, and one that others share can be used to lock them out.
//
// Take [ClientIP] for clients that are not known yet; [ContextValue], [ClientCert], [BearerToken] or [APIKey] only
// behind the authentication that refuses invented ones; a [KeyFunc] for anything else. [Compose] and [FirstOf]
// combine keys. Keys are immutable, safe for concurrent use, and may stand in several rules.
//
// A header field that should have one line, such as that of a credential, is ambiguous if it has two of different
// values: nobody can tell which of them authentication reads. Neither is taken then, FirstOf does not go on, NoKey is
// not asked, and all ambiguous requests of a rule share one bucket; so no client hides a credential behind another one.
// It is logged once with the name of the header, since a proxy may be adding lines to it.
//
// The interface is sealed: every Key comes from this package. What is wrong with one is reported by [New].
type Key interface {
	sealed()
}

// KeyFunc makes a [Key] of a function, as [http.HandlerFunc] makes a Handler of one. The function returns the identity
// that the request is counted for, as any string: the limiter escapes or hashes it. The empty string is no identity, as
// if the function had returned ErrNoKey; beside parts of a [Compose] that are not empty it is a part like any other.
//
// With [ErrNoKey], or an error that wraps it, the function says that there is no such identity here, and the rule's
// NoKey decides; with [ErrSkip] that the rule does not apply to the request at all. Any other error counts as
// ErrNoKey and is logged once per cause, so it must not contain secrets; clients never see it. A panic passes through.
type KeyFunc func(*http.Request) (string, error)

// ErrNoKey from a [KeyFunc] says that the request has no such identity: NoKey of the rule decides. [Middleware.Allow],
// Peek and Reset return an error that wraps it where all parts are empty.
var ErrNoKey = errors.New("httplimit: the request has no such identity")

// Everyone is one bucket for all requests: a limit on the service as a whole. [Middleware.Allow], Peek and Reset take
// no part for it.
func Everyone() Key { return everyone{} }

// Secret returns a key whose identities reach the store and the log only as a hash: `#` and 128 bits of SHA-256,
// or of HMAC-SHA-256 where Config.KeySecret is set. Without a KeySecret that hides only what cannot be guessed, such
// as random tokens; addresses, user names and e-mail addresses want a KeySecret.
//
// A Secret anywhere inside [Compose] or [FirstOf] has the whole key hashed. BearerToken, APIKey and Cookie are
// secret already.
func Secret(k Key) Key { return secret{k} }

// Compose returns a key of several parts, such as an address and a user name: requests share a bucket only if they
// agree in every part. It is injective: ("a:b", "c") never equals ("a", "b:c"). The first key in order that has an
// error decides for all of them, unless one behind it is ambiguous. A part may be empty; if all are, there is no key.
func Compose(keys ...Key) Key { return composed(slices.Clone(keys)) }

// FirstOf returns the first key that has an identity. It goes on to the next one only after [ErrNoKey]; any other
// error ends the search. The identity is marked with which one it was, so that a client cannot pose as one of
// another kind.
//
// Do not put a credential that has not been checked before an address: FirstOf(BearerToken(), ClientIP()) ahead of
// authentication gives each invented token a fresh bucket.
func FirstOf(keys ...Key) Key { return firstOf(slices.Clone(keys)) }

type (
	everyone struct{}
	secret   struct{ of Key }
	composed []Key
	firstOf  []Key
)

func (KeyFunc) sealed()  {}
func (everyone) sealed() {}
func (secret) sealed()   {}
func (composed) sealed() {}
func (firstOf) sealed()  {}

func (f KeyFunc) compile(c *keyCompiler, field string) keyNode {
	if f == nil {
		c.fault(field, "the KeyFunc is nil, want a function")
	}
	return textKey(func(r Request) (string, error) { return f(r.HTTP()) })
}

func (k everyone) compile(*keyCompiler, string) keyNode { return k }

func (everyone) find(Request) (text string, isKey bool, err error) { return "", true, nil }

func (everyone) collect(b *keyenc.Builder, _ Request, composed bool) error {
	b.Constant(composed)
	return nil
}

func (everyone) fill(b *keyenc.Builder, parts []string, composed bool) ([]string, error) {
	b.Constant(composed)
	return parts, nil
}

func (everyone) parts() int { return 0 }

func (everyone) ambiguity(Request) error { return nil }

func (k secret) compile(c *keyCompiler, field string) keyNode {
	c.secret = true
	return c.node(field, k.of)
}

func (k composed) compile(c *keyCompiler, field string) keyNode {
	return allNodes(c.nodes(field+".Compose", k))
}

func (k firstOf) compile(c *keyCompiler, field string) keyNode {
	n := firstNode{nodes: c.nodes(field+".FirstOf", k)}
	for i := range n.nodes {
		n.marks = append(n.marks, keyenc.MarkAlternative(i))
	}
	return n
}
