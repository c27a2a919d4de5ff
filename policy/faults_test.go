package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// one is a policy of one rule, with what is added to it.
func one(added string) string {
	return `{"rules": [{"name": "a", "key": "ip", "limit": "5/m"` + added + "}]}"
}

// faultCases: a ¶ in the text stands before the place of each fault. A fault that begins with "=" has the place of the
// one before it. The faults are "path: a part of the reason".
var faultCases = map[string]struct {
	text string
	want []string
}{
	"nothing":     {"¶", []string{": it is empty, want a policy"}},
	"white space": {"¶ \n ", []string{": it is empty, want a policy"}},
	"cut off":     {"{\"rules\": [\n¶{", []string{": it is not JSON: unexpected end of JSON input"}},
	"text after it": {one("") + "\n ¶{}", []string{
		": it is not JSON: invalid character '{' after top-level value"}},
	"comma at the end": {`{"rules": [],¶}`, []string{": it is not JSON: invalid character '}' looking for"}},
	"not UTF-8":        {"{\n \"\ufffd¶\xff\"", []string{": it is not UTF-8 from here on"}},
	"too deep": {strings.Repeat("[", 10_000) + "¶[", []string{
		": it is not JSON: invalid character '[' exceeded max depth"}},
	"another value": {"¶[]", []string{`: it is a list, want an object with "rules"`}},
	"null":          {"\r\n¶null", []string{": it is null, want an object"}},
	"no rules":      {"¶{}", []string{"rules: it is missing"}},
	"empty rules":   {`{"rules": ¶[]}`, []string{"rules: it is empty, want at least one"}},
	"rules of null": {`{"rules": ¶null}`, []string{"rules: null says nothing"}},
	"many rules": {`{"rules": ¶[` + strings.Repeat("1,", 1000) + `1]}`, []string{
		"rules: there are 1001, want at most 1000"}},
	"a rule of null": {`{"rules": [¶null]}`, []string{"rules[0]: it is null, want an object"}},
	"letters of several bytes": {`{"namespace": ¶"äöü", "rules": ¶1}`, []string{
		`namespace: "äöü" is not up to 64`, "rules: it is a number, want a list"}},
	"byte order mark": {"\ufeff¶{}", []string{"rules: it is missing"}},

	"another case": {`{¶"Rules": [], "rules": [{¶"no_key": "ip", "name": "a", "key": "ip", "limit": "5/m"}]}`, []string{
		`: there is no "Rules" here, want "rules"`, `rules[0]: there is no "no_key" here, want "noKey"`}},
	"unknown": {one(`, ¶"burst": 3`), []string{
		`rules[0]: there is no "burst" here, want one of "name", "key",`}},
	"twice": {one(`, ¶"limit": "6/m"`), []string{`rules[0]: "limit" stands there already`}},
	"twice, nested": {one(`, "plans": {"a": "6/m", ¶"a": "7/m"}`), []string{
		`rules[0].plans: "a" stands there already`}},
	"missing": {`{"rules": [¶{}]}`, []string{
		"rules[0].name: it is missing", "=rules[0].key: it is missing", "=rules[0].limit: it is missing"}},
	"null for a value": {one(`, "percent": ¶null`), []string{
		`rules[0].percent: null says nothing, want a value, or no`}},

	"name": {`{"rules": [{"name": ¶"a\tb", "key": "ip", "limit": "5/m"}]}`, []string{
		`rules[0].name: "a\tb" is not 1 to 64`}},
	"same name": {
		`{"rules": [{"name": "a", "key": "ip", "limit": "5/m"}, {"name": ¶"a", "key": "ip", "limit": "5/m"}]}`,
		[]string{`rules[1].name: "a" is the name of rules[0] already`}},
	"key": {`{"rules": [{"name": "a", "key": ¶"ip +", "limit": "5/m"}]}`, []string{
		`rules[0].key: "ip +" is no identity, want ip,`}},
	"key, a number": {`{"rules": [{"name": "a", "key": ¶1, "limit": "5/m"}]}`, []string{
		"rules[0].key: it is a number, want a text"}},
	"noKey": {one(`, "noKey": ¶"header:host"`), []string{"rules[0].noKey: a request has no header field Host"}},
	"limit": {`{"rules": [{"name": "a", "key": "ip", "limit": ¶"5/w"}]}`, []string{
		`rules[0].limit: cannot read limit "5/w": unknown unit "w"`}},
	"plan": {one(`, "plans": {"pro": ¶"5/367d"}`), []string{
		`rules[0].plans.pro: cannot read limit "5/367d": a window`}},
	"plans":       {one(`, "plans": ¶{}`), []string{"rules[0].plans: it is empty"}},
	"plan's name": {one(`, "plans": {¶"": "5/m"}`), []string{`rules[0].plans: "" is no name of a plan`}},
	"too many windows": {one(`, "plans": {` + windows(63) + `, "last": ¶"5/m fixed-window"}`), []string{
		"rules[0].plans.last: it would be one of more than 64 different windows"}},

	"pattern": {one(`, "when": ["/a", ¶"/{"]`), []string{
		`rules[0].when[1]: "/{" is no pattern: "{" is no wildcard`}},
	"proxies": {
		`{"trustedProxies": [¶"0.0.0.0/0", ¶"10.0.0.1", ¶"::ffff:0:0/64"], ` + one("")[1:], []string{
			"trustedProxies[0]: 0.0.0.0/0 trusts everybody", `trustedProxies[1]: "10.0.0.1" is no network, want one such`,
			"trustedProxies[2]: ::ffff:0.0.0.0/64 is more than the IPv4-mapped addresses"}},
	"networks": {one(`, "onlyFrom": ¶[], "notFrom": [¶"x"]`), []string{
		"rules[0].onlyFrom: it is empty", `rules[0].notFrom[0]: "x" is no network`}},

	"headers": {`{"headers": ¶"RateLimit", ` + one("")[1:], []string{
		`headers: "RateLimit" is no style of header fields, want one of`}},
	"instances": {`{"instances": ¶0, ` + one("")[1:], []string{"instances: it is 0, want a whole number from 1"}},
	"failure": {one(`, "failure": ¶"FailOpen"`), []string{
		`rules[0].failure: "FailOpen" is no policy, want one of`}},

	"cost":      {one(`, "cost": ¶0`), []string{"rules[0].cost: it is 0, want a whole number from 1"}},
	"cost, 1e1": {one(`, "cost": ¶1e1`), []string{"rules[0].cost: it is 1e1, want a whole number from 1"}},
	"cost, large": {one(`, "cost": ¶99999999999999999999`), []string{
		"rules[0].cost: it is 99999999999999999999, want"}},
	"none would pass": {
		`{"rules": [{"name": "a", "key": "ip", "limit": ¶"5/m", "cost": 6, ` +
			`"plans": {"pro": "6/m", "free": "0/m", "cheap": ¶"2/m"}}]}`, []string{
			"rules[0].limit: it has room for 5 and a request costs 6", "rules[0].plans.cheap: it has room for 2"}},
	"none would pass, by the burst": {
		`{"rules": [{"name": "a", "key": "ip", "limit": ¶"5/m token-bucket burst=4", "cost": 5}]}`, []string{
			"rules[0].limit: it has room for 4 and a request costs 5"}},
	"countStatus": {one(`, "countStatus": [200, ¶99, ¶"4xx"]`), []string{
		"rules[0].countStatus[1]: it is 99", "rules[0].countStatus[2]: it is a text"}},

	"inFlight": {one(`, "inFlight": ¶"yes"`), []string{"rules[0].inFlight: it is a text, want true or false"}},
	"inFlight, countStatus": {one(`, "inFlight": ¶true, "countStatus": [200]`), []string{
		"rules[0].inFlight: it is set and countStatus too"}},
	"inFlight, limit": {
		`{"rules": [{"name": "a", "key": "ip", "inFlight": true, "limit": ¶"5/w", "plans": {"pro": "9/m"}}]}`, []string{
			`rules[0].limit: cannot read limit "5/w"`}},
	"inFlight, fixed window": {
		`{"rules": [{"name": "a", "key": "ip", "inFlight": true, "limit": ¶"5/m fixed-window"}]}`, []string{
			"rules[0].limit: its algorithm is fixed-window and inFlight is set"}},

	"percent": {one(`, "percent": ¶101`), []string{
		"rules[0].percent: it is 101, want a whole number from 1 to 100"}},
	"percent of nobody": {one(`, "percent": ¶0`), []string{
		`rules[0].percent: 0 would be everybody, want 1 to 100, or "shadow"`}},
	"percent in shadow": {one(`, "percent": ¶5, "shadow": true`), []string{
		"rules[0].percent: it is 5 and shadow is set"}},
	"ban": {one(`, "ban": ¶true`), []string{
		`rules[0].ban: it is true or false, want an object with "after",`}},
	"ban of everyone": {`{"rules": [{"name": "a", "key": "everyone", "limit": "5/m", "shadow": true,` + "\n" +
		`"ban": ¶{"after": 3, "within": "1m", "for": "1h"}}]}`, []string{
		"rules[0].ban: it is set and shadow too", "=rules[0].ban: the key is the same for all clients"}},
	"a ban's fields": {one(`, "ban": ¶{"after": ¶1001, "within": ¶"w", ¶"For": "1h"}`), []string{
		"rules[0].ban.for: it is missing", "rules[0].ban.after: it is 1001, want a whole number from 1 to 1000",
		`rules[0].ban.within: "w" is no duration`, `rules[0].ban: there is no "For" here, want "for"`}},
}

func TestFaults(t *testing.T) {
	for name, tt := range faultCases {
		t.Run(name, func(t *testing.T) {
			text, places := unmark(tt.text)
			p, err := policy.Parse([]byte(text))
			if err == nil {
				t.Fatal("Parse: got no error")
			}
			if p != nil {
				t.Error("Parse returned a policy beside an error")
			}
			checkFaults(t, err, places, tt.want)
		})
	}
}

// unmark takes the marks out of a text and returns their lines and columns.
func unmark(marked string) (text string, places []string) {
	parts := strings.Split(marked, "¶")
	for _, part := range parts[:len(parts)-1] {
		text += part
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		places = append(places, fmt.Sprintf("%d:%d", len(lines), len([]rune(lines[len(lines)-1]))+1))
	}
	return text + parts[len(parts)-1], places
}

func checkFaults(t *testing.T, err error, places, want []string) {
	t.Helper()
	faults := policy.Faults(err)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(want) || len(faults) != len(want) {
		t.Fatalf("got %d faults in %d lines, want %d:\n%v", len(faults), len(lines), len(want), err)
	}
	place := ""
	for i, part := range want {
		part, same := strings.CutPrefix(part, "=")
		if !same {
			place, places = places[0], places[1:]
		}
		f := faults[i]
		got := fmt.Sprintf("%d:%d %s: %s", f.Line, f.Column, f.Path, f.Reason)
		if !strings.HasPrefix(got, place+" "+part) {
			t.Errorf("fault %d:\ngot  %s\nwant %s %s", i+1, got, place, part)
		}
	}
	if len(places) > 0 {
		t.Errorf("places without a fault: %v", places)
	}
}

// windows are plans of n different windows.
func windows(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"a%d": "5/%ds"`, i, i+100)
	}
	return strings.Join(all, ", ")
}

func TestFaultTellsTheRule(t *testing.T) {
	_, err := policy.Parse([]byte("{\"rules\": [\n {\"name\": \"log in\", \"key\": \"ip\", \"limit\": \"5\"}]}"))
	want := `policy: 2:43: rules[0] "log in".limit: cannot read limit "5": want`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s...", err, want)
	}
}
