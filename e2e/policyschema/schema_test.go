// Package policyschema_test holds policy/schema.json against policy.Parse. It stands here because the root module
// requires no library that reads schemas.
package policyschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/httplimit/httplimit/policy"
)

// beyond are the reasons of faults that a schema has no words for. Everything else that Parse refuses, it refuses.
var beyond = regexp.MustCompile(strings.Join([]string{
	"^it is not UTF-8",                   // JSON libraries put up with it
	"stands there already",               // they take the last one
	"is the name of rules",               // unique names
	"the wildcard .* stands there twice", // likewise
	`^cannot (read|use) limit "[^"]*": (Req|a win|max|Win|Burst|"?[0-9]*"?( is too| has too|\.\.\. is too))`, // sizes
	"^it would be one of more than 64 different windows",
	"^it has room for",                           // limit and cost
	`^"[0-9]+(ms|s|m|h|d)" is no duration`,       // sizes
	`^"[0-9A-Fa-f:.]+/[0-9]{1,3}" is no network`, // what the digits of an address may be
	"is more than the IPv4-mapped addresses",
	"trusts everybody to write any address",
	// 1e1 and 1.0 are integers to a schema
	"^it is -?[0-9.]+[eE][+-]?[0-9]+, want a whole|^it is -?[0-9]+\\.0+, want a whole|^it is -0, want",
}, "|"))

func schema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	file, err := os.Open("../../policy/schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	text, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", text); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// compare checks that schema and parser agree about a text, which is JSON. It returns whether Parse takes it.
func compare(tb testing.TB, s *jsonschema.Schema, text string) bool {
	tb.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	refused := s.Validate(value)
	_, err = policy.Parse([]byte(text))
	if err == nil {
		if refused != nil {
			tb.Errorf("the schema refuses what Parse takes: %s\n%v", text, refused)
		}
		return true
	}
	if refused != nil {
		return false
	}
	for _, fault := range policy.Faults(err) {
		if !beyond.MatchString(fault.Reason) {
			tb.Errorf("the schema takes what Parse refuses: %s\n%v", text, fault)
		}
	}
	return false
}

// choices are values for each name, the first ones right, from wrong on wrong.
type choices struct {
	values []string
	wrong  int
}

func of(right []string, wrong ...string) choices { return choices{append(right, wrong...), len(right)} }

var always = []string{`null`, `{}`, `1`, `true`, `"x y"`}

var limits = of([]string{`"5/m"`, `"0/h"`, `"007/05s"`, `"10/h sliding-log"`, `"20/s token-bucket burst=40"`,
	`"1/366d"`,
	`"5/m strict-window"`, `"6/ms sliding-window"`},
	`"5"`, `"5/w"`, `"5/m gcra"`, `"5/m burst=3"`, `"5/m  sliding-log"`, `"5/m token-bucket burst=0"`, `"5/367d"`,
	`"-1/m"`,
	`"5/m fixed-window burst=5"`, `"1000000001/m"`, `" 5/m"`, `"5/M"`, `"99999999999999999999/m"`,
	`"5/99999999999999999999m"`, `""`)

var keys = of([]string{`"ip"`, `"ip"`, `"ip + header:X-User"`, `"apikey:X-API-Key | ip"`, `"name:user.of-1_"`,
	`"cookie:a|b"`,
	`"cookie:Host"`, `"bearer | basic + cert | everyone"`, `"route + ip"`, `"header:X+Y"`},
	`"IP"`, `"ip+bearer"`, `"ip "`, `"header:"`, `"header:a b"`, `"header:Host"`, `"ip | apikey:HOST"`, `"name:"`,
	`"name:a b"`,
	`"ip:x"`, `"user"`, `"ip |"`, `" | "`, `"everyone"`, `"route"`, `"ip | route + everyone"`, `"cookie:ä"`, `""`)

var networks = of([]string{`["10.0.0.0/8"]`, `["2001:db8::/32", "192.0.2.7/32"]`, `["::ffff:10.0.0.0/104"]`},
	`["0.0.0.0/0"]`, `["::/0"]`, `["10.0.0.0"]`, `["10.0.0.0/33"]`, `["fe80::1%eth0/64"]`, `["example.com/8"]`,
	`[1]`, `[""]`, `[]`)

var whens = of([]string{`["/"]`, `["POST /login", "name:api"]`, `["a.test/x/{y}/{z...}"]`, `["/x/{$}"]`,
	`["/..."]`, `["/.a/b..", "/é"]`,
	`["/a;b/%2F"]`, `["[::1]:80/"]`, `["M-SEARCH /{_a1}/"]`, `["name:x/"]`},
	`[]`, `["login"]`, `["post /login"]`, `["POST  /login"]`, `["/a b"]`, `["/a?b"]`, `["/a#"]`, `["//"]`,
	`["/a/../b"]`, `["/."]`,
	`["/a/./"]`, `["/{"]`, `["/{}"]`, `["/x{y}"]`, `["/{y}x"]`, `["/{$}/"]`, `["/{y...}/x"]`, `["/{1}"]`,
	`["/{y}/{y}"]`, `["name:"]`,
	`["{h}/"]`, `["/a\\b"]`, `["/a\u0000"]`, `["/a\u009b"]`, `[1]`, `[""]`, `["/a//b"]`, `["/a/{x}//"]`, `["ä.test/"]`)

var durations = of([]string{`"10m"`, `"366d"`, `"1ms"`, `"007h"`},
	`"m"`, `"0s"`, `"367d"`, `"1.5h"`, `"1w"`, `"10m sliding-log"`, `"-1s"`, `"10"`, `""`, `5`)

var numbers = of([]string{`1`, `100`}, `0`, `-1`, `1.5`, `"1"`, `1e1`, `2.0`, `101`, `1001`, `1000000000000`, `-0`)

var rule = map[string]choices{
	"name":  of([]string{`"a"`, `"log in ~"`}, `""`, `"a\tb"`, `"é"`, `"`+strings.Repeat("x", 65)+`"`),
	"key":   keys,
	"noKey": keys,
	"limit": limits,
	"plans": of([]string{`{"pro": "200/h"}`, `{"a": "5/m", "~ b": "6/m fixed-window"}`}, `{}`,
		`{"": "5/m"}`, `{"é": "5/m"}`, `{"pro": 5}`, `{"pro": null}`),
	"when":        whens,
	"onlyFrom":    networks,
	"notFrom":     networks,
	"cost":        numbers,
	"countStatus": of([]string{`[200]`, `[401, 403, 999]`}, `[]`, `[99]`, `[1000]`, `["4xx"]`, `[200.5]`),
	"inFlight":    of([]string{`true`, `false`}, `"true"`),
	"failure":     of([]string{`"fail-local"`, `"fail-open"`, `"fail-closed"`}, `"FailOpen"`, `""`),
	"shadow":      of([]string{`true`, `false`}, `0`),
	"percent":     numbers,
	"ban":         of([]string{`BAN`}, `{"after": 1}`, `[]`, `{"after": 1, "within": "1m", "for": "1h", "x": 1}`),
	"private":     of([]string{`true`, `false`}, `[]`),
	"Private":     of(nil, `true`),
}

var ban = map[string]choices{"after": numbers, "within": durations, "for": durations}

var root = map[string]choices{
	"$schema":        of([]string{`"schema.json"`}),
	"namespace":      of([]string{`"shop"`, `""`, `"a.b_c~d-1"`}, `"a b"`, `"ä"`, `"`+strings.Repeat("x", 65)+`"`),
	"trustedProxies": {append([]string{`[]`}, networks.values...), networks.wrong + 1},
	"headers": of([]string{`"ratelimit"`, `"none"`, `"x-ratelimit-delta + ratelimit"`,
		`"ratelimit-draft-07 + x-ratelimit-epoch"`},
		`"ratelimit + none"`, `"ratelimit + ratelimit"`, `"RateLimit"`, `"x-ratelimit-delta + x-ratelimit-epoch"`,
		`"ratelimit +"`, `""`),
	"instances": numbers,
	"Rules":     of(nil, `[]`),
}

// maker makes random documents. Of how many values one is wrong is what makes most of them interesting.
type maker struct {
	*rand.Rand
	oneWrongOf int
}

func (m maker) object(members map[string]choices, required []string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(members)) { // so that a seed is a document
		c := members[name]
		needed := strings.Contains(" "+strings.Join(required, " ")+" ", " "+name+" ")
		if needed && m.IntN(40) == 0 || !needed && m.IntN(6) > 0 {
			continue
		}
		if value := m.value(c); value != "" {
			all = append(all, fmt.Sprintf("%q: %s", name, value))
		}
	}
	return "{" + strings.Join(all, ", ") + "}"
}

func (m maker) value(c choices) string {
	switch {
	case m.IntN(m.oneWrongOf) == 0 && m.IntN(4) == 0:
		return always[m.IntN(len(always))]
	case m.IntN(m.oneWrongOf) == 0 && c.wrong < len(c.values):
		return c.values[c.wrong+m.IntN(len(c.values)-c.wrong)]
	case c.wrong == 0:
		return ""
	}
	value := c.values[m.IntN(c.wrong)]
	if value == "BAN" {
		value = m.object(ban, []string{"after", "within", "for"})
	}
	return value
}

func (m maker) document() string {
	rules := make([]string, m.IntN(8)/2)
	for i := range rules {
		rules[i] = m.object(rule, []string{"name", "key", "limit"})
	}
	members := map[string]choices{"rules": of([]string{"[" + strings.Join(rules, ", ") + "]"}, `{}`)}
	for name, c := range root {
		members[name] = c
	}
	return m.object(members, []string{"rules"})
}

// TestSchemaIsTheParser: over random documents that are right but for a value here and there.
func TestSchemaIsTheParser(t *testing.T) {
	s := schema(t)
	taken := 0
	const documents = 20_000
	for seed := range uint64(documents) {
		m := maker{rand.New(rand.NewPCG(seed, 1)), 12 + int(seed%50)}
		text := m.document()
		if !json.Valid([]byte(text)) {
			t.Fatalf("not JSON: %s", text)
		}
		if compare(t, s, text) {
			taken++
		}
		if t.Failed() {
			return
		}
	}
	if taken < documents/20 || taken > documents*19/20 {
		t.Errorf("Parse takes %d of %d documents, want some of either kind", taken, documents)
	}
}

// TestEachValue: alone in a policy that is right.
func TestEachValue(t *testing.T) {
	s := schema(t)
	with := func(members map[string]choices, name string, value string, base string) string {
		if strings.Contains(base, `"`+name+`": `) {
			return regexp.MustCompile(`"`+name+`": "[^"]*"`).ReplaceAllLiteralString(base, fmt.Sprintf("%q: %s", name, value))
		}
		return strings.TrimSuffix(base, "}") + fmt.Sprintf(", %q: %s}", name, value)
	}
	const theRule, theBan = `{"name": "a", "key": "ip", "limit": "1000/m"}`, `{"after": 1, "within": "1m", "for": "1h"}`
	for place, members := range map[string]map[string]choices{"": root, "rule": rule, "ban": ban} {
		for name, c := range members {
			for i, value := range append(append([]string{}, c.values...), always...) {
				if value == "BAN" {
					value = theBan
				}
				text := fmt.Sprintf(`{"rules": [%s]}`, theRule)
				switch place {
				case "":
					text = with(members, name, value, text)
				case "rule":
					text = fmt.Sprintf(`{"rules": [%s]}`, with(members, name, value, theRule))
				case "ban":
					text = fmt.Sprintf(`{"rules": [%s]}`, with(rule, "ban", with(members, name, value, theBan), theRule))
				}
				if taken := compare(t, s, text); i < c.wrong && !taken && name != "after" {
					t.Errorf("Parse refuses %s", text)
				}
			}
		}
	}
}

// FuzzSchema: over whatever is JSON.
func FuzzSchema(f *testing.F) {
	s := schema(f)
	for seed := range uint64(50) {
		f.Add(maker{rand.New(rand.NewPCG(seed, 1)), 10}.document())
	}
	f.Fuzz(func(t *testing.T, text string) {
		if json.Valid([]byte(text)) {
			compare(t, s, text)
		}
	})
}
