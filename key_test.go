package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestPlainKeys(t *testing.T) {
	long := strings.Repeat("x", 128)
	for _, test := range []struct {
		name    string
		key     Key
		request Request
		want    string
	}{
		{"an address stands as it is", ClientIP(), lines(), "192.0.2.7"},
		{"a network of IPv6 too", ClientIP(), request("[2001:db8:1:2:3::1]:1"), "2001:db8:1:2::/64"},
		{"bits beyond a trusted network's length do not matter", ClientIP(netip.MustParsePrefix("192.0.9.9/16")),
			lines("X-Forwarded-For", "198.51.100.7"), "198.51.100.7"},
		{"an IPv4 network", ClientIPFrom(ClientIPConfig{IPv4Bits: 24}), lines(), "192.0.2.0/24"},
		{"a single IPv6 address", ClientIPFrom(ClientIPConfig{IPv6Bits: 128}), request("[2001:DB8::1]:1"), "2001:db8::1"},
		{"no NAT64 where the list is empty", ClientIPFrom(ClientIPConfig{NAT64: []netip.Prefix{}}),
			request("[64:ff9b::c000:207]:1"), "64:ff9b::/64"},
		{"Compose escapes ':' and '/'", Compose(ClientIP(), Header("X-A")),
			request("[2001:db8:1:2:3::1]:1", [2]string{"X-A", "a/b"}), "2001%3Adb8%3A1%3A2%3A%3A%2F64:a%2Fb"},
		{"Compose of one escapes as well", Compose(Header("X-A")), lines("X-A", "a:b/c"), "a%3Ab%2Fc"},
		{"one key alone does not", Header("X-A"), lines("X-A", "a:b/c"), "a:b/c"},
		{"every other byte is escaped", Header("X-A"), lines("X-A", "#%{*}\xff é"), "%23%25%7B%2A%7D%FF%20%C3%A9"},
		{"a nested Compose is one list", Compose(Compose(Header("X-A"), Header("X-B")), Header("X-A")),
			lines("X-A", "a", "X-B", "b"), "a:b:a"},
		{"FirstOf tells which one it was", FirstOf(Header("X-A"), Header("X-B")), lines("X-A", "v"), "%K1:v"},
		{"FirstOf goes on after ErrNoKey", FirstOf(Header("X-A"), Header("X-B")), lines("X-B", "v"), "%K2:v"},
		{"also one that is wrapped", FirstOf(fails(fmt.Errorf("no user: %w", ErrNoKey)), Header("X-B")), lines("X-B", "v"),
			"%K2:v"},
		{"FirstOf inside Compose", Compose(FirstOf(Header("X-A"), Header("X-B")), ClientIP()), lines("X-B", "a:b"),
			"%K2:a%3Ab:192.0.2.7"},
		{"FirstOf inside FirstOf", FirstOf(Header("X-A"), FirstOf(Header("X-A"), Header("X-B"))), lines("X-B", "a:b"),
			"%K2:%K2:a:b"},
		{"Everyone has one key", Everyone(), lines(), ""},
		{"128 bytes stand in clear", Header("X-A"), lines("X-A", long), long},
		{"without the identity the peer decides", Header("X-A"), lines(), "%N:192.0.2.7"},
		{"and without a peer nobody", Header("X-A"), request("@"), "%U"},
		{"a part that is missing is no key", Compose(ClientIP(), Header("X-A")), lines(), "%N:192.0.2.7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, skip, cause := found(compiled(t, test.key, nil, ""), test.request)
			if got != test.want || skip || cause != nil {
				t.Errorf("the key is %q, skip %v, cause %v; want %q", got, skip, cause, test.want)
			}
			checkSafe(t, got)
		})
	}
}

func TestHashedKeys(t *testing.T) {
	for _, test := range []struct {
		name    string
		key     Key
		request Request
		secret  string
	}{
		{"129 bytes", Header("X-A"), lines("X-A", strings.Repeat("x", 129)), ""},
		{"128 bytes and one that is escaped", Header("X-A"), lines("X-A", strings.Repeat("x", 127)+"%"), ""},
		{"128 bytes after a mark", FirstOf(Header("X-A")), lines("X-A", strings.Repeat("x", 128)), ""},
		{"a bearer token", BearerToken(), lines("Authorization", "Bearer tok"), ""},
		{"an API key", APIKey("X-API-Key"), lines("X-API-Key", "tok"), ""},
		{"a cookie", Cookie("sid"), lines("Cookie", "a=b; sid=tok"), ""},
		{"a header of credentials", Header("authorization"), lines("Authorization", "tok"), ""},
		{"one secret in a Compose", Compose(ClientIP(), BearerToken()), lines("Authorization", "Bearer tok"), ""},
		{"one secret in a FirstOf, also if another answers", FirstOf(BearerToken(), ClientIP()), lines(), ""},
		{"an address under a KeySecret", ClientIP(), lines(), keySecret},
		{"the NoKey under a KeySecret", Header("X-A"), lines(), keySecret},
		{"nobody under a KeySecret", Header("X-A"), request("@"), keySecret},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, skip, cause := found(compiled(t, test.key, nil, test.secret), test.request)
			if len(got) != 23 || got[0] != '#' || skip || cause != nil {
				t.Errorf("the key is %q, skip %v, cause %v; want '#' and 22 characters", got, skip, cause)
			}
			checkSafe(t, got)
		})
	}
}

// Keys of different kinds never meet, whatever the client writes: neither in clear nor hashed.
func TestMarksCannotBeForged(t *testing.T) {
	for _, scheme := range schemes {
		t.Run(scheme.name, func(t *testing.T) {
			wrap := scheme.wrap
			tell := func(key, noKey Key, r Request) string {
				if noKey != nil {
					noKey = wrap(noKey)
				}
				got, _, _ := found(compiled(t, wrap(key), noKey, scheme.secret), r)
				return got
			}
			first := FirstOf(Header("X-A"), Header("X-B"))
			both := Compose(Header("X-A"), Header("X-B"))
			seen := map[string]string{}
			for name, key := range map[string]string{
				"the first of two":                 tell(first, nil, lines("X-A", "v")),
				"the second of two":                tell(first, nil, lines("X-B", "v")),
				"a first one that writes a mark":   tell(first, nil, lines("X-A", "%K2:v")),
				"the NoKey":                        tell(both, Header("X-C"), lines("X-C", "v")),
				"parts that look like that":        tell(both, nil, lines("X-A", "%N", "X-B", "v")),
				"parts that are marks":             tell(both, nil, lines("X-A", "%N:", "X-B", "v")),
				"one that looks like a hash input": tell(Header("X-A"), nil, lines("X-A", "%N:1:v")),
				"nobody":                           tell(Header("X-A"), Header("X-C"), lines()),
				"one that writes nobody's mark":    tell(Header("X-A"), nil, lines("X-A", "%U")),
			} {
				if other, twice := seen[key]; twice {
					t.Errorf("%s and %s share the key %q", name, other, key)
				}
				seen[key] = name
			}
		})
	}
}

func TestErrorsOfKeys(t *testing.T) {
	broken, worse := errors.New("directory down"), errors.New("network down")
	for _, test := range []struct {
		name       string
		key, noKey Key
		want       string
		skip       bool
		causes     []error
	}{
		{"ErrSkip skips", fails(ErrSkip), nil, "", true, nil},
		{"ErrSkip in a Compose skips", Compose(ClientIP(), fails(ErrSkip)), nil, "", true, nil},
		{"ErrSkip in a FirstOf skips, though another follows", FirstOf(fails(ErrSkip), ClientIP()), nil, "", true, nil},
		{"the first error of a Compose decides", Compose(fails(ErrNoKey), fails(ErrSkip)), nil, "%N:192.0.2.7", false, nil},
		{"another error is for the log", fails(broken), nil, "%N:192.0.2.7", false, []error{broken}},
		{"another error ends a FirstOf", FirstOf(fails(broken), Header("X-A")), nil, "%N:192.0.2.7", false, []error{broken}},
		{"ErrSkip of NoKey skips", fails(ErrNoKey), fails(ErrSkip), "", true, nil},
		{"without any key it is nobody", fails(ErrNoKey), fails(ErrNoKey), "%U", false, nil},
		{"an error of NoKey is for the log", fails(ErrNoKey), fails(worse), "%U", false, []error{worse}},
		{"so are both", fails(broken), fails(worse), "%U", false, []error{broken, worse}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, skip, cause := found(compiled(t, test.key, test.noKey, ""), lines("X-A", "v"))
			if got != test.want || skip != test.skip || (cause != nil) != (test.causes != nil) {
				t.Errorf("the key is %q, skip %v, cause %v; want %q, skip %v, causes %v", got, skip, cause, test.want, test.skip,
					test.causes)
			}
			for _, want := range test.causes {
				if !errors.Is(cause, want) {
					t.Errorf("the cause is %v, want %v in it", cause, want)
				}
			}
		})
	}
}

func TestPanicOfAKeyFuncPasses(t *testing.T) {
	keys := compiled(t, Compose(ClientIP(), KeyFunc(func(*http.Request) (string, error) { panic("mine") })), nil,
		keySecret)
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v, want the panic of the KeyFunc", got)
		}
	}()
	found(keys, lines())
}

func TestKeysFoundElsewhere(t *testing.T) {
	for _, test := range []struct {
		name    string
		key     Key
		parts   []string
		request Request
	}{
		{"one part", Header("X-A"), []string{"a b"}, lines("X-A", "a b")},
		{"parts of a Compose", Compose(ClientIP(), BasicUser()), []string{"192.0.2.7", "alice"},
			lines("Authorization", "Basic YWxpY2U6eA==")},
		{"a token", BearerToken(), []string{"tok"}, lines("Authorization", "Bearer tok")},
		{"FirstOf takes its first key", FirstOf(Header("X-A"), ClientIP()), []string{"v"}, lines("X-A", "v")},
		{"Everyone takes no part", Compose(Everyone(), Header("X-A")), []string{"v"}, lines("X-A", "v")},
		{"the bucket of an address", ClientIP(), []string{"2001:db8:1:2::/64"}, request("[2001:db8:1:2:3::1]:1")},
		{"an address in the bucket", ClientIP(), []string{"2001:db8:1:2:ffff::9"}, request("[2001:db8:1:2:3::1]:1")},
		{"an address of the bucket in another form", ClientIP(), []string{"::ffff:192.0.2.7"}, lines()},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, scheme := range schemes {
				keys := compiled(t, scheme.wrap(test.key), nil, scheme.secret)
				want, _, _ := found(keys, test.request)
				if got, err := keys.of(test.parts, false); got != want || err != nil {
					t.Errorf("%s: of(%q) is %q, %v; want the key of the request, %q", scheme.name, test.parts, got, err, want)
				}
			}
		})
	}
}

// TestAddressParts: an operator who mistypes an address must not think that he has unblocked somebody.
func TestAddressParts(t *testing.T) {
	keys := compiled(t, ClientIP(), nil, "")
	for part, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "192.0.2.7/32": "192.0.2.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "2001:db8:1:2::/64": "2001:db8:1:2::/64",
		"2001:db8:1:2:3::/64": "2001:db8:1:2::/64",
		"nonsense":            "", "1.2.3.4:5": "", " 1.2.3.4": "", "": "",
	} {
		got, err := keys.of([]string{part}, false)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("of(%q): got %q, %v, want %q", part, got, err, want)
		}
	}
}

func TestWrongNumberOfParts(t *testing.T) {
	keys := compiled(t, Compose(ClientIP(), FirstOf(Compose(Header("X-A"), Everyone()), Header("X-B"))), nil, "")
	for _, parts := range [][]string{nil, {"a"}, {"a", "b", "c"}} {
		key, err := keys.of(parts, false)
		if want := fmt.Sprintf("got %d parts, want 2", len(parts)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of(%q) is %q, %v; want an error with %q", parts, key, err, want)
		}
	}
}
