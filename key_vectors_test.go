package httplimit

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
)

// vectorPart is a string, {"b64": ...} or {"repeat": c, "times": n}.
type vectorPart string

func (p *vectorPart) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(p))
	}
	var form struct {
		Bytes  []byte `json:"b64"`
		Repeat string `json:"repeat"`
		Times  int    `json:"times"`
	}
	err := json.Unmarshal(raw, &form)
	*p = vectorPart(string(form.Bytes) + strings.Repeat(form.Repeat, form.Times))
	return err
}

type keyVector struct {
	ID             string         `json:"id"`
	Kind           string         `json:"kind"`
	Tuples         [][]vectorPart `json:"tuples"`
	Parts          []vectorPart   `json:"parts"`
	MustNotContain string         `json:"must_not_contain"`
	SecretHex      string         `json:"secret_hex"`
	Headers        [][2]string    `json:"headers"`
	Source         string         `json:"source"`
	Expect         *string        `json:"expect"`
}

func TestKeyVectors(t *testing.T) {
	var vectors struct{ Cases []keyVector }
	readVectors(t, "keys.json", &vectors)
	run := map[string]func(*testing.T, keyVector){
		"distinct": func(t *testing.T, v keyVector) { runTuples(t, v, len(v.Tuples)) },
		"same":     func(t *testing.T, v keyVector) { runTuples(t, v, 1) },
		"safe":     runSafe,
		"secret":   runSecret,
		"plain-v1": runPlain,
		"hmac-v1":  runHMAC,
		"extract":  runExtract,
	}
	if len(vectors.Cases) == 0 {
		t.Fatal("no cases in the file")
	}
	for _, v := range vectors.Cases {
		if run[v.Kind] == nil {
			t.Fatalf("%s: unknown kind %q", v.ID, v.Kind)
		}
		t.Run(v.ID, func(t *testing.T) { run[v.Kind](t, v) })
	}
}

// compose writes parts as Compose would.
func compose(t testing.TB, wrap func(Key) Key, secret string, parts []vectorPart) string {
	t.Helper()
	var keys []Key
	var texts []string
	for _, part := range parts {
		keys = append(keys, Header("X-Part"))
		texts = append(texts, string(part))
	}
	key, err := compiled(t, wrap(Compose(keys...)), nil, secret).of(texts, false)
	if err != nil {
		t.Fatal(err)
	}
	checkSafe(t, key)
	return key
}

func runTuples(t *testing.T, v keyVector, want int) {
	for _, scheme := range schemes {
		keys := map[string]bool{}
		for _, tuple := range v.Tuples {
			keys[compose(t, scheme.wrap, scheme.secret, tuple)] = true
		}
		if len(keys) != want {
			t.Errorf("%s: %q have the keys %v, want %d keys", scheme.name, v.Tuples, keys, want)
		}
	}
}

func runSafe(t *testing.T, v keyVector) {
	for _, scheme := range schemes {
		if compose(t, scheme.wrap, scheme.secret, v.Parts) == "" { // checks that the key is safe
			t.Errorf("%s: the key of %q is empty", scheme.name, v.Parts)
		}
	}
}

func runSecret(t *testing.T, v keyVector) {
	for _, scheme := range schemes[1:] {
		key := compose(t, scheme.wrap, scheme.secret, v.Parts)
		if strings.Contains(key, v.MustNotContain) || !strings.HasPrefix(key, "#") {
			t.Errorf("%s: the key of %q is %q, want a hash", scheme.name, v.Parts, key)
		}
	}
}

func runPlain(t *testing.T, v keyVector) {
	if got := compose(t, schemes[0].wrap, "", v.Parts); got != *v.Expect {
		t.Errorf("the key of %q is %q, want %q", v.Parts, got, *v.Expect)
	}
}

func runHMAC(t *testing.T, v keyVector) {
	secret, err := hex.DecodeString(v.SecretHex)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := compose(t, schemes[0].wrap, string(secret), v.Parts), "#"+*v.Expect; got != want {
		t.Errorf("the key of %q is %q, want %q", v.Parts, got, want)
	}
}

func runExtract(t *testing.T, v keyVector) {
	kind, name, _ := strings.Cut(v.Source, ":")
	var list []Key
	switch kind {
	case "bearer":
		list = []Key{BearerToken()}
	case "basic-user":
		list = []Key{BasicUser()}
	case "header":
		list = []Key{Header(name), APIKey(name)}
	case "cookie":
		list = []Key{Cookie(name)}
	default:
		t.Fatalf("unknown source %q", v.Source)
	}
	for _, key := range list {
		keys := compiled(t, key, Everyone(), "")
		got, _, cause := found(keys, request("192.0.2.1:1", v.Headers...))
		want := "%N:"
		switch {
		case v.Expect != nil && *v.Expect == "ambiguous":
			want = "%M"
			if cause == nil {
				t.Errorf("nothing is logged of %q, want that it is ambiguous", v.Headers)
			}
			cause = nil
		case v.Expect != nil:
			want, _ = keys.of([]string{*v.Expect}, false)
		}
		if got != want || cause != nil {
			t.Errorf("the key of %q is %q (%v), want %q", v.Headers, got, cause, want)
		}
	}
}

func TestSecretKeysAreSHA256(t *testing.T) {
	key, err := compiled(t, Secret(Compose(Header("X-A"), Header("X-B"))), nil, "").of([]string{"user", "42"}, false)
	if err != nil {
		t.Fatal(err)
	}
	// printf 'rlkey/sha-v1\0004:user2:42' | sha256sum
	sum, _ := hex.DecodeString("53b7eb789d36910475a8139f538d76ac")
	if want := "#" + base64.RawURLEncoding.EncodeToString(sum); key != want {
		t.Errorf("the key is %q, want %q", key, want)
	}
}
