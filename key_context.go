package httplimit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
)

// ContextValue is what authentication in front of the limiter has put into the request's context under key: a user, a
// tenant, a plan. The value is a string, an integer, a type of such a kind, or a [fmt.Stringer], whose String is then
// what counts. There is no key if there is no value, or its text is empty; 0 is a key. A value of another type is an
// error: it is logged once, and NoKey decides.
//
// Where subjects are unique only for their issuer, as in a JWT, [Compose] both.
func ContextValue(key any) Key { return contextValue{key} }

// ClientCert is the client's TLS certificate: the SHA-256 of its public key (SubjectPublicKeyInfo), in hex, so that it
// outlives a renewal of the certificate for the same key. There is no key unless the server has verified the
// certificate, with [tls.VerifyClientCertIfGiven] or [tls.RequireAndVerifyClientCert].
//
// [tls.VerifyClientCertIfGiven]: https://pkg.go.dev/crypto/tls#VerifyClientCertIfGiven
// [tls.RequireAndVerifyClientCert]: https://pkg.go.dev/crypto/tls#RequireAndVerifyClientCert
func ClientCert() Key { return clientCert{} }

type (
	contextValue struct{ key any }
	clientCert   struct{}
)

func (contextValue) sealed() {}
func (clientCert) sealed()   {}

func (k contextValue) compile(c *keyCompiler, field string) keyNode {
	if k.key == nil || !reflect.TypeOf(k.key).Comparable() {
		c.fault(field, "a %T is no key of a context, want a comparable value", k.key)
	}
	return textKey(k.find)
}

func (k contextValue) find(r Request) (string, error) {
	value := r.Context().Value(k.key)
	if value == nil {
		return "", ErrNoKey
	}
	text, err := textOf(value)
	if err == nil && text == "" {
		err = ErrNoKey
	}
	return text, err
}

// textOf never puts the value into its error: it may be a secret, and errors are logged.
func textOf(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return "", ErrNoKey
	}
	if s, ok := value.(fmt.Stringer); ok {
		return s.String(), nil
	}
	switch {
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return "", fmt.Errorf("httplimit: ContextValue found a %T, want a string, an integer or a fmt.Stringer", value)
}

func (k clientCert) compile(*keyCompiler, string) keyNode { return textKey(k.find) }

func (clientCert) find(r Request) (string, error) {
	// PeerCertificates would be filled without verification too, under tls.RequestClientCert.
	state := r.HTTP().TLS
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return "", ErrNoKey
	}
	sum := sha256.Sum256(state.VerifiedChains[0][0].RawSubjectPublicKeyInfo)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:]), nil
}
