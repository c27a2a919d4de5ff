package httplimit

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

// checkFound checks that key finds the identity want in r; that NoKey decides if want is "none"; or, if it is
// "ambiguous", that the request is counted as that. It returns why NoKey decided.
func checkFound(t *testing.T, key Key, r Request, want string) (cause error) {
	t.Helper()
	keys := compiled(t, key, Everyone(), "")
	wantKey, _ := keys.of([]string{want}, false)
	got, _, cause := found(keys, r)
	switch want {
	case "none":
		wantKey = "%N:"
	case "ambiguous":
		wantKey = "%M"
		if cause == nil {
			t.Error("nothing is logged, want that the identity is ambiguous")
		}
		cause = nil
	}
	if got != wantKey {
		t.Errorf("the key is %q, want %q: that of the identity %q", got, wantKey, want)
	}
	return cause
}

func TestCredentials(t *testing.T) {
	for _, test := range []struct {
		name    string
		key     Key
		headers []string
		want    string
	}{
		{"a token of an unusual alphabet", BearerToken(), []string{"Authorization", "Bearer 12|a:b,c"}, "12|a:b,c"},
		{"a token with a tab", BearerToken(), []string{"Authorization", "Bearer a\tb"}, "none"},
		{"a tab after the scheme", BearerToken(), []string{"Authorization", "Bearer\ta"}, "none"},
		{"a token that is not ASCII", BearerToken(), []string{"Authorization", "Bearer ü"}, "none"},
		{"a space before the scheme", BearerToken(), []string{"Authorization", " Bearer a"}, "none"},
		{"a scheme that begins like it", BearerToken(), []string{"Authorization", "Bearerx a"}, "none"},
		{"two lines, one without a token", BearerToken(), []string{"Authorization", "Bearer a", "Authorization", ""},
			"ambiguous"},
		{"a user in UTF-8", BasicUser(), []string{"Authorization", "basic w7w6eA=="}, "ü"},
		{"a user without padding", BasicUser(), []string{"Authorization", "Basic YWxpY2U6eA"}, "none"},
		{"a user longer than the room on the stack", BasicUser(),
			[]string{"Authorization", "Basic " + strings.Repeat("YWFh", 100) + "OmI="}, strings.Repeat("a", 300)},
		{"two equal lines of Basic are one", BasicUser(), []string{"Authorization", "Basic YWxpY2U6eA==", "Authorization",
			"Basic YWxpY2U6eA=="}, "alice"},
		{"two passwords of one user", BasicUser(), []string{"Authorization", "Basic YWxpY2U6eA==", "Authorization",
			"Basic YWxpY2U6eQ=="}, "ambiguous"},
		{"a header of two equal lines is one", Header("X-A"), []string{"X-A", "v", "X-A", "v"}, "v"},
		{"a header of three lines", Header("X-A"), []string{"X-A", "v", "X-A", "v", "X-A", "w"}, "ambiguous"},
		{"a header of two lines, the first empty", Header("X-A"), []string{"X-A", "", "X-A", "v"}, "ambiguous"},
		{"a header of two empty lines", Header("X-A"), []string{"X-A", "", "X-A", ""}, "none"},
		{"a list in one line is one value", APIKey("X-A"), []string{"X-A", "v, w"}, "v, w"},
		{"a header by its name in any case", Header("x-a"), []string{"X-A", "v"}, "v"},
		{"a cookie among others", Cookie("sid"), []string{"Cookie", "a=b;sid=v ; c=d"}, "v"},
		{"a cookie in the second line", Cookie("sid"), []string{"Cookie", "a=b", "Cookie", "sid=v"}, "v"},
		{"a cookie in quotes is the one without", Cookie("sid"), []string{"Cookie", `sid="v"`}, "v"},
		{"a cookie with '=' in its value", Cookie("sid"), []string{"Cookie", "sid=a=b="}, "a=b="},
		{"of two cookies in a line the first", Cookie("sid"), []string{"Cookie", "sid=a; sid=b"}, "a"},
		{"of two cookies in two lines the first", Cookie("sid"), []string{"Cookie", "x=y; sid=a", "Cookie", "sid=b"}, "a"},
		{"an empty cookie is the first as well", Cookie("sid"), []string{"Cookie", "sid=; sid=a"}, "none"},
		{"a cookie that net/http drops is not the first", Cookie("sid"), []string{"Cookie", `sid=a"b; sid=c`}, "c"},
		{"a cookie with a space before its value", Cookie("sid"), []string{"Cookie", "sid= a"}, " a"},
		{"a cookie in another case", Cookie("sid"), []string{"Cookie", "SID=a"}, "none"},
		{"a cookie of empty quotes", Cookie("sid"), []string{"Cookie", `sid=""`}, "none"},
		{"a cookie of one quote", Cookie("sid"), []string{"Cookie", `sid="`}, "none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if cause := checkFound(t, test.key, lines(test.headers...), test.want); cause != nil {
				t.Errorf("the cause for %q is %v, want none", test.headers, cause)
			}
		})
	}
}

type (
	userKey  struct{}
	userID   int64
	userName string
	user     struct{ name string }
)

func (u *user) String() string { return u.name }

func TestContextValue(t *testing.T) {
	for _, test := range []struct {
		name  string
		value any
		want  string
		cause string
	}{
		{"a string", "alice", "alice", ""},
		{"a type of strings", userName("alice"), "alice", ""},
		{"an integer", 42, "42", ""},
		{"a type of integers", userID(-42), "-42", ""},
		{"the largest one", ^uint64(0), "18446744073709551615", ""},
		{"zero is a user", 0, "0", ""},
		{"a Stringer", &user{"alice"}, "alice", ""},
		{"a nil Stringer", (*user)(nil), "none", ""},
		{"a Stringer without text", &user{}, "none", ""},
		{"the empty string", "", "none", ""},
		{"nothing", nil, "none", ""},
		{"a slice", []string{"top", "secret"}, "none", "[]string"},
		{"a float", 1.5, "none", "float64"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(func(r *http.Request) {
				*r = *r.WithContext(context.WithValue(r.Context(), userKey{}, test.value))
			})
			cause := checkFound(t, ContextValue(userKey{}), r, test.want)
			if (cause != nil) != (test.cause != "") {
				t.Errorf("the cause for %v is %v, want one: %v", test.value, cause, test.cause != "")
			}
			if cause != nil && (!strings.Contains(cause.Error(), test.cause) || strings.Contains(cause.Error(), "secret")) {
				t.Errorf("the cause is %q, want the type %s and not the value", cause, test.cause)
			}
		})
	}
}

func TestClientCert(t *testing.T) {
	leaf := &x509.Certificate{RawSubjectPublicKeyInfo: []byte("public key")}
	authority := &x509.Certificate{RawSubjectPublicKeyInfo: []byte("authority")}
	sum := sha256.Sum256([]byte("public key"))
	for _, test := range []struct {
		name  string
		state *tls.ConnectionState
		want  string
	}{
		{"verified", &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{leaf, authority}}},
			hex.EncodeToString(sum[:])},
		{"sent but not verified", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}, "none"},
		{"an empty chain", &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{}}}, "none"},
		{"TLS without a certificate", &tls.ConnectionState{}, "none"},
		{"no TLS", nil, "none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRequest(func(r *http.Request) { r.TLS = test.state })
			if cause := checkFound(t, ClientCert(), r, test.want); cause != nil {
				t.Errorf("the cause is %v, want none", cause)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	mux := http.NewServeMux()
	for _, pattern := range []string{"GET /items/{id}", "/tree/{leaf}/", "POST other.example/items/{id}"} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	for _, test := range []struct{ name, method, url, want string }{
		{"a route", "GET", "http://service.example/items/1", "GET /items/{id}"},
		{"another client of it", "GET", "http://service.example/items/2?x=y", "GET /items/{id}"},
		{"HEAD goes with GET", "HEAD", "http://service.example/items/2", "GET /items/{id}"},
		{"a path that is cleaned", "GET", "http://service.example//items/./2", "GET /items/{id}"},
		{"a redirect to a tree", "GET", "http://service.example/tree/1", "/tree/{leaf}/"},
		{"a CONNECT to a tree tells the mux's path, not the client's", "CONNECT", "http://service.example/tree/1",
			"none"},
		{"a route of a host", "POST", "http://other.example/items/1", "POST other.example/items/{id}"},
		{"another method", "PUT", "http://service.example/items/1", "none"},
		{"no route", "GET", "http://service.example/none", "none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest(test.method, test.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if cause := checkFound(t, RouteOf(mux), HTTPRequest(r), test.want); cause != nil {
				t.Errorf("around the mux the cause is %v, want none", cause)
			}
			if test.want != "none" {
				r.Pattern = test.want
			}
			if cause := checkFound(t, Route(), HTTPRequest(r), test.want); cause != nil {
				t.Errorf("inside the mux the cause is %v, want none", cause)
			}
		})
	}
}
