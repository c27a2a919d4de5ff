package httplimit

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// fuzzKeys are keys of which every form is in use: alone, composed, one of several, and both within each other.
var fuzzKeys = []Key{
	Header("X-A"),
	Compose(Header("X-A")),
	Compose(Header("X-A"), Header("X-B")),
	FirstOf(Header("X-A"), Header("X-B"), Header("X-C")),
	FirstOf(Header("X-A"), Compose(Header("X-B"), Header("X-C"))),
	Compose(FirstOf(Header("X-A"), Header("X-B")), Header("X-C")),
	Compose(FirstOf(Compose(Header("X-A"), Header("X-B")), Header("X-C")),
		FirstOf(Header("X-C"), Header("X-B"), Everyone())),
}

// fuzzNoKey finds nothing in a request that lacks X-C.
var fuzzNoKey = Compose(Header("X-C"), Header("X-C"))

// answer tells in plain words what a key finds: two requests with one answer share a bucket, all others do not.
func answer(key Key, values [3]string) (string, bool) {
	switch key := key.(type) {
	case headerKey:
		value := values[strings.Index("ABC", key.name[2:])]
		return fmt.Sprintf("%q", value), value != ""
	case composed:
		all := "all("
		for _, k := range key {
			text, ok := answer(k, values)
			if !ok {
				return "", false
			}
			all += text + " "
		}
		return all + ")", true
	case firstOf:
		for i, k := range key {
			if text, ok := answer(k, values); ok {
				return fmt.Sprintf("first(%d: %s)", i, text), true
			}
		}
		return "", false
	}
	return "everyone", true
}

func answerOfRule(key Key, values [3]string) string {
	if text, ok := answer(key, values); ok {
		return "key " + text
	}
	if text, ok := answer(fuzzNoKey, values); ok {
		return "no key " + text
	}
	return "nobody"
}

// FuzzKeys makes the keys of two requests: they are equal if and only if the requests give the same answers, whatever
// bytes a client sends; and they are short and safe in every scheme.
func FuzzKeys(f *testing.F) {
	f.Add("a:b", "c", "", "a", "b:c", "")
	f.Add("%K1", "v", "", "", "%K1:v", "")
	f.Add("", "", "v", "%N", "v", "v")
	f.Add("%N:1", "1:v", "v", "1:%N", "", "v")
	f.Add("%U", "", "", "", "", "")
	f.Add("#", "\x00\xff", "ü", "%23", "%00%FF", "u")
	f.Add(strings.Repeat("x", 128), "", "", strings.Repeat("x", 129), "", "")
	f.Add(strings.Repeat("x", 126), "a", "", strings.Repeat("x", 125), "a", "")
	f.Fuzz(func(t *testing.T, a1, b1, c1, a2, b2, c2 string) {
		one, two := [3]string{a1, b1, c1}, [3]string{a2, b2, c2}
		for _, scheme := range schemes {
			for i, key := range fuzzKeys {
				keys := compiled(t, scheme.wrap(key), scheme.wrap(fuzzNoKey), scheme.secret)
				first, second := keyOf(t, keys, one), keyOf(t, keys, two)
				if same := answerOfRule(key, one) == answerOfRule(key, two); same != (first == second) {
					t.Errorf("%s, key %d: %q and %q have the keys %q and %q, want them to be the same: %v", scheme.name, i, one,
						two, first, second, same)
				}
			}
		}
	})
}

func keyOf(t *testing.T, keys *ruleKeys, values [3]string) string {
	t.Helper()
	key, _, cause := found(keys, newRequest(func(r *http.Request) {
		for i, name := range []string{"X-A", "X-B", "X-C"} {
			r.Header[name] = []string{values[i]}
		}
	}))
	if cause != nil {
		t.Errorf("the cause is %v, want none", cause)
	}
	checkSafe(t, key)
	return key
}
