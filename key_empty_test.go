package httplimit

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

func returns(text string) Key {
	return KeyFunc(func(*http.Request) (string, error) { return text, nil })
}

// TestEmptyIdentitiesAreNone: one bucket for everybody whose identity is empty would be one client's to use up.
func TestEmptyIdentitiesAreNone(t *testing.T) {
	const none = "%N:192.0.2.7"
	empty := returns("")
	value := newRequest(func(r *http.Request) {
		r.RemoteAddr, r.TLS = "192.0.2.7:1", &tls.ConnectionState{}
		*r = *r.WithContext(context.WithValue(r.Context(), userKey{}, ""))
		r.Header.Set("X-A", "")
		r.Header.Set("Cookie", `sid=""`)
		r.Header.Add("Authorization", "Basic OnBhc3M=") // no name before the colon
	})
	bearer := lines("Authorization", "Bearer ")
	for _, test := range []struct {
		name    string
		key     Key
		request Request
		want    string
	}{
		{"a KeyFunc", empty, value, none},
		{"a header", Header("X-A"), value, none},
		{"an API key", APIKey("X-A"), value, none},
		{"a cookie", Cookie("sid"), value, none},
		{"a user", BasicUser(), value, none},
		{"a token", BearerToken(), bearer, none},
		{"a value of the context", ContextValue(userKey{}), value, none},
		{"a certificate", ClientCert(), value, none},
		{"a route", Route(), value, none},
		{"a Secret", Secret(empty), value, none},
		{"all parts", Compose(empty, empty), value, none},
		{"all nested parts", Compose(empty, Compose(empty, empty)), value, none},
		{"the only part beside everyone", Compose(Everyone(), empty), value, none},
		{"every alternative", FirstOf(empty, Compose(empty, empty)), value, none},
		{"one part beside another", Compose(empty, ClientIP()), value, ":192.0.2.7"},
		{"nested parts beside another", Compose(Compose(empty, empty), ClientIP()), value, "::192.0.2.7"},
		{"an alternative before another", FirstOf(empty, ClientIP()), value, "%K2:192.0.2.7"},
		{"an alternative inside a Compose", Compose(FirstOf(empty, returns("v")), ClientIP()), value, "%K2:v:192.0.2.7"},
		{"the alternatives of a part", Compose(FirstOf(empty, empty), ClientIP()), value, none},
		{"a missing part stays missing", Compose(Header("X-A"), ClientIP()), value, none},
		{"everyone is somebody", Everyone(), value, ""},
		{"also as the only part", Compose(Everyone()), value, ""},
		{"also as an alternative", FirstOf(empty, Everyone()), value, "%K2:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, skip, cause := found(compiled(t, test.key, nil, ""), test.request)
			if want := test.want; got != want && (want != none || got[0] != '#') || skip || cause != nil {
				t.Errorf("the key is %q, skip %v, cause %v; want %q", got, skip, cause, want)
			}
			kind := compiled(t, test.key, nil, keySecret).find(test.request, false).kind
			if (kind == otherKey) != (test.want == none) {
				t.Errorf("under a KeySecret the kind of key is %d, want NoKey's: %v", kind, test.want == none)
			}
		})
	}
}

// TestEmptyNoKeyIsNobody: NoKey is held to the same.
func TestEmptyNoKeyIsNobody(t *testing.T) {
	for name, noKey := range map[string]Key{"alone": returns(""), "parts": Compose(returns(""), returns(""))} {
		if got, _, _ := found(compiled(t, Header("X-A"), noKey, ""), lines()); got != "%U" {
			t.Errorf("%s: the key is %q, want nobody's", name, got)
		}
	}
}

// TestAllowWithoutAnIdentity: nothing is spent, and the caller can tell.
func TestAllowWithoutAnIdentity(t *testing.T) {
	m, err := New(Config{Rules: []Rule{
		{Name: "user", Key: Header("X-User"), Limit: limiter.PerDay(1)},
		{Name: "both", Key: Compose(Header("X-User"), Header("X-Tenant")), Limit: limiter.PerDay(1)},
		{Name: "all", Key: Everyone(), Limit: limiter.PerDay(1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, test := range []struct {
		rule  string
		parts []string
		none  bool
	}{
		{"user", []string{""}, true}, {"both", []string{"", ""}, true}, {"both", []string{"", "acme"}, false},
		{"all", nil, false},
	} {
		v, allow := m.Allow(ctx, test.rule, test.parts...)
		_, peek := m.Peek(ctx, test.rule, test.parts...)
		reset := m.Reset(ctx, test.rule, test.parts...)
		for call, err := range map[string]error{"Allow": allow, "Peek": peek, "Reset": reset} {
			if errors.Is(err, ErrNoKey) != test.none || (err != nil) != test.none {
				t.Errorf("%s(%s, %q): got %v, want ErrNoKey: %v", call, test.rule, test.parts, err, test.none)
			}
		}
		if v.Allowed == test.none {
			t.Errorf("Allow(%s, %q): got %+v, want it allowed: %v", test.rule, test.parts, v, !test.none)
		}
	}
}
