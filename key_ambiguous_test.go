package httplimit

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/limiter"
)

// neverAsked is a NoKey that must not be asked.
func neverAsked(t *testing.T) Key {
	return KeyFunc(func(*http.Request) (string, error) {
		t.Error("NoKey was asked, want that an ambiguous identity is no missing one")
		return "somebody else", nil
	})
}

// TestAmbiguousIdentities: of two values neither counts, nor does anything in their place.
func TestAmbiguousIdentities(t *testing.T) {
	twoTokens := []string{"Authorization", "Bearer a", "Authorization", "Bearer b"}
	twoKeys := []string{"X-Api-Key", "a", "X-Api-Key", "b"}
	cloud := ClientIPFrom(ClientIPConfig{Header: "CF-Connecting-IP",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	twoAddresses := []string{"Cf-Connecting-Ip", "6.6.6.6", "Cf-Connecting-Ip", "198.51.100.7"}
	for _, test := range []struct {
		name    string
		key     Key
		headers []string
	}{
		{"a token", BearerToken(), twoTokens},
		{"a token and another scheme", BearerToken(), []string{"Authorization", "Bearer a", "Authorization", "Basic YTpi"}},
		{"a user", BasicUser(), []string{"Authorization", "Basic YTpi", "Authorization", "Basic YzpkCg=="}},
		{"an API key", APIKey("X-API-Key"), twoKeys},
		{"a header", Header("x-api-key"), twoKeys},
		{"a header, first empty", Header("X-A"), []string{"X-A", "", "X-A", "v"}},
		{"a header, then empty", Header("X-A"), []string{"X-A", "v", "X-A", ""}},
		{"an address that a proxy reports twice", cloud, twoAddresses},
		{"a Secret", Secret(Header("X-Api-Key")), twoKeys},
		{"the last part", Compose(ClientIP(), BearerToken()), twoTokens},
		{"the first part", Compose(BearerToken(), ClientIP()), twoTokens},
		{"a part behind a missing one", Compose(Header("X-Missing"), BearerToken()), twoTokens},
		{"a part behind one that fails", Compose(fails(errors.New("broken")), BearerToken()), twoTokens},
		{"an address behind a missing part", Compose(Header("X-Missing"), cloud), twoAddresses},
		{"a nested part behind a missing one",
			Compose(Header("X-Missing"), Compose(ClientIP(), Secret(FirstOf(BearerToken())))), twoTokens},
		{"the first alternative", FirstOf(APIKey("X-Api-Key"), ClientIP()), twoKeys},
		{"the second alternative", FirstOf(Header("X-Missing"), APIKey("X-Api-Key"), ClientIP()), twoKeys},
		{"an alternative of several parts", FirstOf(Compose(Header("X-Missing"), APIKey("X-Api-Key")), ClientIP()), twoKeys},
		{"a part of several alternatives", Compose(FirstOf(APIKey("X-Api-Key"), ClientIP()), ClientIP()), twoKeys},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, scheme := range schemes {
				keys := compiled(t, scheme.wrap(test.key), neverAsked(t), scheme.secret)
				first := keys.find(lines(test.headers...), false)
				if first.cause == nil || !strings.Contains(first.cause.Error(), http.CanonicalHeaderKey(test.headers[0])) {
					t.Errorf("%s: the cause is %v, want one that names %s", scheme.name, first.cause, test.headers[0])
				}
				if first.skip || first.kind != ambiguousKey {
					t.Errorf("%s: found %+v, want an ambiguous key", scheme.name, first)
				}
				if want := "%M"; scheme.secret == "" && first.key != want {
					t.Errorf("%s: the key is %q, want %q", scheme.name, first.key, want)
				}
				// The other order, and other values, are no other bucket; and it is logged once.
				headers := append([]string(nil), test.headers...)
				headers[1], headers[3] = headers[3], headers[1]+"x"
				if got := keys.find(lines(headers...), false); got.key != first.key || got.cause != nil {
					t.Errorf("%s: with %q found %+v, want the same key and nothing more to log", scheme.name, headers, got)
				}
				checkSafe(t, first.key)
			}
		})
	}
}

// TestAmbiguousKeysAreApart: they are nobody else's.
func TestAmbiguousKeysAreApart(t *testing.T) {
	for _, scheme := range schemes {
		keys := compiled(t, scheme.wrap(Header("X-A")), Header("X-B"), scheme.secret)
		seen := map[string]string{}
		for name, r := range map[string]Request{
			"ambiguous":                 lines("X-A", "a", "X-A", "b"),
			"one of the values":         lines("X-A", "a"),
			"the other one":             lines("X-A", "b"),
			"the mark":                  lines("X-A", "%M"),
			"the mark as NoKey":         lines("X-B", "%M"),
			"nobody":                    lines(),
			"both values in one header": lines("X-A", "a, b"),
		} {
			key := keys.find(r, false).key
			if other, twice := seen[key]; twice {
				t.Errorf("%s: %s and %s share the key %q", scheme.name, name, other, key)
			}
			seen[key] = name
		}
		noKey := keys.find(lines("X-B", "a", "X-B", "b"), false)
		if got := seen[noKey.key]; got != "ambiguous" || noKey.kind != ambiguousKey {
			t.Errorf("%s: an ambiguous NoKey has the key of %q, want that of all ambiguous requests", scheme.name, got)
		}
	}
}

// TestErrSkipGoesBeforeAmbiguity: a function that says that the rule does not apply is believed where it is asked
// first.
func TestErrSkipGoesBeforeAmbiguity(t *testing.T) {
	keys := compiled(t, Compose(fails(ErrSkip), Header("X-A")), nil, "")
	if got := keys.find(lines("X-A", "a", "X-A", "b"), false); !got.skip {
		t.Errorf("found %+v, want that the rule is skipped", got)
	}
}

// TestAmbiguityIsLoggedOnce: with the header's name and no value, also over a Reconfigure.
func TestAmbiguityIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	cfg := Config{Rules: []Rule{{Name: "key", Key: APIKey("X-API-Key"), Limit: limiter.PerHour(1)}},
		Logger: slog.New(slog.NewTextHandler(&log, nil))}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for range 5 {
			m.Check(lines("X-Api-Key", "s3cret-a", "X-Api-Key", "s3cret-b")).Settle(200)
		}
		if err := m.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "ambiguous") != 1 || !strings.Contains(got, "X-Api-Key") ||
		!strings.Contains(got, "proxy") || strings.Contains(got, "s3cret") {
		t.Errorf("the log is %q, want one line that names X-Api-Key and no value", got)
	}
}

// FuzzCookie: the cookie that counts is the one that authentication reads.
func FuzzCookie(f *testing.F) {
	for _, line := range []string{
		"sid=a; sid=b", `sid="a"`, `sid=a"b; sid=c`, "sid= a", "sid", "sid=;sid=b", " sid =a", "sid=a=b", `sid="; sid=x`,
		"\tsid=a,b", "sid=\x7f; sid=b", "a=b;;sid=c", `sid=a\b; sid="c d"`, "sid=\n1",
	} {
		f.Add(line, "sid=last")
		f.Add("x=y", line)
	}
	keys := compiled(f, Cookie("sid"), Everyone(), "")
	f.Fuzz(func(t *testing.T, first, second string) {
		if strings.Count(first+second, ";") > 1000 {
			t.Skip("net/http reads no cookies where there are that many")
		}
		r := lines("Cookie", first, "Cookie", second)
		want := "%N:"
		if c, err := r.HTTP().Cookie("sid"); err == nil && c.Value != "" {
			want, _ = keys.of([]string{c.Value}, false)
		}
		if got, _, _ := found(keys, r); got != want {
			t.Errorf("the key of %q and %q is %q, want that of what http.Request.Cookie reads, %q", first, second, got, want)
		}
	})
}
