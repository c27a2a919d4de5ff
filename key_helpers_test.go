package httplimit

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
)

const keySecret = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"

// schemes are the three forms of a key: in clear, hashed, and hashed under a KeySecret.
var schemes = []struct {
	name   string
	wrap   func(Key) Key
	secret string
}{
	{"plain", func(k Key) Key { return k }, ""},
	{"secret", Secret, ""},
	{"keyed", func(k Key) Key { return k }, keySecret},
}

// compiled is a rule's keys, for tests.
func compiled(t testing.TB, key, noKey Key, secret string) *ruleKeys {
	t.Helper()
	keys, faults := compileKey("Key", "NoKey", key, noKey, []byte(secret), silent)
	for _, fault := range faults {
		t.Error(fault)
	}
	if len(faults) > 0 {
		t.FailNow()
	}
	return keys
}

// found is the key of a request that is no preflight.
func found(k *ruleKeys, r Request) (key string, skip bool, cause error) {
	f := k.find(r, false)
	return f.key, f.skip, f.cause
}

// checkSafe holds for every key that reaches a store.
func checkSafe(t testing.TB, key string) {
	t.Helper()
	if len(key) > 128 {
		t.Errorf("the key %q has %d bytes, want at most 128", key, len(key))
	}
	if i := strings.IndexFunc(key, func(c rune) bool {
		return c <= ' ' || c >= 0x7F || strings.ContainsRune(`{}*?[]\`,
			c)
	}); i >= 0 {
		t.Errorf("the key %q holds the byte %q", key, key[i])
	}
}

func silent(string, string) {}

// request is one from remote with header lines.
func request(remote string, headers ...[2]string) Request {
	return newRequest(func(r *http.Request) {
		r.RemoteAddr = remote
		for _, line := range headers {
			r.Header.Add(line[0], line[1])
		}
	})
}

func lines(headers ...string) Request {
	var list [][2]string
	for i := 0; i < len(headers); i += 2 {
		list = append(list, [2]string{headers[i], headers[i+1]})
	}
	return request("192.0.2.7:1234", list...)
}

func fails(err error) Key {
	return KeyFunc(func(*http.Request) (string, error) { return "ignored", err })
}

func newRequest(set func(*http.Request)) Request {
	r, err := http.NewRequest("GET", "http://service.example/", nil)
	if err != nil {
		panic(err)
	}
	set(r)
	return HTTPRequest(r)
}

func readVectors(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}
