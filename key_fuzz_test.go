package httplimit

import (
	"fmt"
	"net/http"
	"slices"
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

// state is what a key says of a request.
type state int

const (
	isThere state = iota
	isMissing
	isAmbiguous
)

// answer tells in plain words what a key finds: two requests with one answer share a bucket, all others do not. A value
// with line breaks stands in several lines.
func answer(key Key, values [3]string) (string, state) {
	switch key := key.(type) {
	case headerKey:
		value := values[strings.Index("ABC", key.name[2:])]
		lines := slices.Compact(strings.Split(value, "\n"))
		switch {
		case len(lines) > 1:
			return "", isAmbiguous
		case lines[0] == "":
			return "", isMissing
		}
		return fmt.Sprintf("%q", lines[0]), isThere
	case composed:
		all := "all("
		for i, k := range key {
			text, is := answer(k, values)
			if is == isMissing && hasAmbiguous(key[i+1:], values) {
				is = isAmbiguous
			}
			if is != isThere {
				return "", is
			}
			all += text + " "
		}
		return all + ")", isThere
	case firstOf:
		for i, k := range key {
			if text, is := answer(k, values); is != isMissing {
				return fmt.Sprintf("first(%d: %s)", i, text), is
			}
		}
		return "", isMissing
	}
	return "everyone", isThere
}

// hasAmbiguous reports whether there is an ambiguous header anywhere in keys.
func hasAmbiguous(keys []Key, values [3]string) bool {
	return slices.ContainsFunc(keys, func(key Key) bool {
		switch key := key.(type) {
		case composed:
			return hasAmbiguous(key, values)
		case firstOf:
			return hasAmbiguous(key, values)
		}
		_, is := answer(key, values)
		return is == isAmbiguous
	})
}

func answerOfRule(key Key, values [3]string) string {
	text, is := answer(key, values)
	prefix := "key "
	if is == isMissing {
		text, is = answer(fuzzNoKey, values)
		prefix = "no key "
	}
	switch is {
	case isMissing:
		return "nobody"
	case isAmbiguous:
		return "ambiguous"
	}
	return prefix + text
}

// FuzzKeys makes the keys of two requests, each of which may be a preflight: they are equal if and only if the requests
// give the same answers, whatever bytes a client sends; and they are short and safe in every scheme.
func FuzzKeys(f *testing.F) {
	for _, preflights := range []uint8{0, 1, 3} {
		f.Add("a:b", "c", "", "a", "b:c", "", preflights)
		f.Add("%K1", "v", "", "", "%K1:v", "", preflights)
		f.Add("", "", "v", "%N", "v", "v", preflights)
		f.Add("%N:1", "1:v", "v", "1:%N", "", "v", preflights)
		f.Add("%U", "", "", "", "", "", preflights)
		f.Add("%P", "v", "", "%P:v", "", "", preflights)
		f.Add("a\nb", "v", "", "b\na", "", "v", preflights)
		f.Add("", "a\nb", "v", "%M", "%M", "%M", preflights)
		f.Add("#", "\x00\xff", "ü", "%23", "%00%FF", "u", preflights)
		f.Add(strings.Repeat("x", 128), "", "", strings.Repeat("x", 129), "", "", preflights)
		f.Add(strings.Repeat("x", 126), "a", "", strings.Repeat("x", 125), "a", "", preflights)
	}
	f.Fuzz(func(t *testing.T, a1, b1, c1, a2, b2, c2 string, preflights uint8) {
		one, two := [3]string{a1, b1, c1}, [3]string{a2, b2, c2}
		firstIs, secondIs := preflights&1 != 0, preflights&2 != 0
		for _, scheme := range schemes {
			for i, key := range fuzzKeys {
				keys := compiled(t, scheme.wrap(key), scheme.wrap(fuzzNoKey), scheme.secret)
				first, second := keyOf(t, keys, one, firstIs), keyOf(t, keys, two, secondIs)
				same := firstIs == secondIs && answerOfRule(key, one) == answerOfRule(key, two)
				if same != (first == second) {
					t.Errorf("%s, key %d: %q (preflight %v) and %q (preflight %v) have the keys %q and %q, want them to be the "+
						"same: %v", scheme.name, i, one, firstIs, two, secondIs, first, second, same)
				}
			}
		}
	})
}

func keyOf(t *testing.T, keys *ruleKeys, values [3]string, preflight bool) string {
	t.Helper()
	found := keys.find(newRequest(func(r *http.Request) {
		for i, name := range []string{"X-A", "X-B", "X-C"} {
			r.Header[name] = strings.Split(values[i], "\n")
		}
	}), preflight)
	if found.cause != nil && found.kind != ambiguousKey {
		t.Errorf("the cause is %v, want none", found.cause)
	}
	checkSafe(t, found.key)
	return found.key
}
