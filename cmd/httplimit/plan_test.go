package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const planPolicy = `{"rules": [
	{"name": "address", "key": "ip", "limit": "5/m"},
	{"name": "login", "key": "ip", "limit": "2/15m", "when": ["POST /login"], "countStatus": [401], "private": true}]}`

// folder makes files and returns how to name them.
func folder(t *testing.T, files map[string]string) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

// runPlan calls the command with a standard input.
func runPlan(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(append([]string{"plan"}, args...), strings.NewReader(stdin), &out, &errs)
	return status, out.String(), errs.String()
}

// planLog is n requests of so many clients, one every second.
func planLog(n, clients int, public bool) string {
	net := "10.1.2"
	if public {
		net = "198.51.100"
	}
	var b strings.Builder
	for i := range n {
		at := time.Date(2025, 3, 3, 9, 15, i, 0, time.UTC).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(&b, "%s.%d - - [%s] \"POST /login HTTP/1.1\" %d 7 \"-\" \"Mozilla/5.0\"\n", net, i%clients+1, at,
			200+201*(i%2))
	}
	return b.String()
}

func TestPlan(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.log": planLog(120, 2, true)})
	status, stdout, stderr := runPlan(t, "", "-policy", at("policy.json"), "-json", at("out.json"), "-o", at("out.html"),
		"-suggest", at("access.log"))
	if status != exitOK || stderr != "" {
		t.Fatalf("the status is %d, want 0; %s", status, stderr)
	}
	for _, want := range []string{"RULE", "address", "login", "There are only 2 clients", "Suggested limits, by window"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the table lacks %q:\n%s", want, stdout)
		}
	}
	out := readJSON(t, at("out.json"))
	if in := out.Input; in.Lines != 120 || in.Parsed != 120 || in.Bad != 0 || in.Format != "combined" || in.Clients != 2 {
		t.Errorf("the input is %+v", in)
	}
	for i, name := range []string{"address", "login"} {
		if r := out.Rules[i]; r.Name != name || r.Requests != 120 || r.Refused == 0 || r.Clients != 2 {
			t.Errorf("rule %d is %+v, want %s with 120 requests, some of them refused", i, r, name)
		}
	}
	html, err := os.ReadFile(at("out.html"))
	if err != nil || !bytes.Contains(html, []byte("<svg")) {
		t.Errorf("the page has no picture: %v", err)
	}
}

type planJSON struct {
	Version int
	Input   struct {
		Files, Lines, Parsed, Bad, Outside, Clients int
		Format                                      string
		Warnings                                    []string
	}
	Rules []struct {
		Name, Limit, LeftOut    string
		Requests, Refused       int
		Clients, ClientsRefused int
		Notes                   []string
		Suggestion              *struct{ Limit string }
	}
}

func readJSON(t *testing.T, name string) (out planJSON) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Wrong use is told in a sentence that says what to do, with the status that the help promises.
func TestPlanWrongUse(t *testing.T) {
	at := folder(t, map[string]string{
		"policy.json": planPolicy, "access.log": planLog(60, 30, true), "empty.log": "", "prose.log": "Dear Sir,\nno log\n",
		"binary.log":  "\x7fELF\x00\x00\x00\x00",
		"bad.json":    `{"rules": [{"name": "a", "key": "ip", "limit": "5 per minute"}]}`,
		"user.json":   `{"rules": [{"name": "user", "key": "header:X-User", "limit": "5/m"}]}`,
		"named.json":  `{"rules": [{"name": "user", "key": "name:user", "limit": "5/m"}]}`,
		"flight.json": `{"rules": [{"name": "open", "key": "ip", "limit": "5/m", "inFlight": true}]}`,
	})
	if err := os.Mkdir(at("logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	policy := []string{"-policy", at("policy.json")}
	for name, c := range map[string]struct {
		args []string
		want []string // of standard error
	}{
		"nothing": {nil, []string{"there is no policy: name its file with -policy",
			"there is no log: name its files"}},
		"no log":       {policy, []string{"there is no log"}},
		"unknown flag": {[]string{"-polcy", "x"}, []string{"-polcy", "httplimit plan -h"}},
		"no such log":  {append(policy, at("none.log")), []string{"none.log", "no such file"}},
		"a folder":     {append(policy, at("logs")), []string{"it is a folder: name the files in it"}},
		"empty":        {append(policy, at("empty.log")), []string{"empty.log: it is empty"}},
		"binary":       {append(policy, at("binary.log")), []string{"binary.log: it holds no text but binary data"}},
		"wrong format": {append(policy, "-format", "ltsv", at("access.log")), []string{
			"none of the lines could be read as ltsv: name their format by -format", "line 1: it tells no time"}},
		"prose":           {append(policy, at("prose.log")), []string{"its format is not known; say it with -format"}},
		"both":            {append(policy, at("empty.log"), at("none.log")), []string{"empty.log: it is empty", "none.log"}},
		"no policy":       {[]string{"-policy", at("none.json"), at("access.log")}, []string{"none.json"}},
		"bad policy":      {[]string{"-policy", at("bad.json"), at("access.log")}, []string{`rules[0] "a".limit`}},
		"format":          {append(policy, "-format", "iis", at("access.log")), []string{`there is no "iis"`, "combined"}},
		"log_format":      {append(policy, "-format", "nginx:$status", at("access.log")), []string{"it has no time"}},
		"map":             {append(policy, "-map", "zeit=ts", at("access.log")), []string{`"zeit=ts" is no pair`}},
		"trust":           {append(policy, "-trust", "lb", at("access.log")), []string{"want a network such as 10.0.0.0/8"}},
		"trust everybody": {append(policy, "-trust", "0.0.0.0/0", at("access.log")), []string{"it is everybody"}},
		"from": {append(policy, "-from", "yesterday", at("access.log")),
			[]string{"want a time such as 2025-03-03"}},
		"from and to": {append(policy, "-from", "2025-03-04", "-to", "2025-03-03", at("access.log")),
			[]string{"-from is not before -to"}},
		"window":    {append(policy, "-window", "1w", at("access.log")), []string{`"1w" is no length of a window`}},
		"top":       {append(policy, "-top", "0", at("access.log")), []string{"want 1 to 10000"}},
		"max-bytes": {append(policy, "-max-bytes", "much", at("access.log")), []string{"want a number of bytes"}},
		"too many bytes": {append(policy, "-max-bytes", "1KB", at("access.log")),
			[]string{"unpacks to more than 1000 bytes; raise -max-bytes"}},
		"max-reorder": {append(policy, "-max-reorder", "-1s", at("access.log")),
			[]string{"-max-reorder: -1s is out of range"}},
		"fail-above": {append(policy, "-fail-above", "login", at("access.log")),
			[]string{"want a rule's name and a share"}},
		"no such rule": {append(policy, "-fail-above", "logout=1%", at("access.log")),
			[]string{`the policy has no rule "logout"`}},
		"flags behind": {append(policy, at("access.log"), "-suggest"), []string{"-suggest stands behind a file"}},
		"untold header": {[]string{"-policy", at("user.json"), at("access.log")}, []string{`no rule can be replayed`,
			`"header:X-User" is a header that the log does not tell`}},
		"untold name": {[]string{"-policy", at("named.json"), at("access.log")},
			[]string{`"name:user" is made by your program`}},
		"in flight": {[]string{"-policy", at("flight.json"), at("access.log")}, []string{"requests at once"}},
		"output":    {append(policy, "-o", at("none/out.html"), at("access.log")), []string{"-o: ", "no such file"}},
	} {
		status, _, stderr := runPlan(t, "", c.args...)
		if status != exitFault {
			t.Errorf("%s: the status is %d, want 1; %s", name, status, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: standard error lacks %q:\n%s", name, want, stderr)
			}
		}
		for line := range strings.Lines(stderr) {
			if !strings.HasPrefix(line, "httplimit plan: ") {
				t.Errorf("%s: a line does not say who speaks: %s", name, line)
			}
		}
	}
}

func TestPlanLeavesRulesOut(t *testing.T) {
	at := folder(t, map[string]string{"access.log": planLog(60, 30, true), "policy.json": `{"rules": [
		{"name": "address", "key": "ip", "limit": "5/m"},
		{"name": "key", "key": "apikey:X-API-Key | ip", "limit": "5/m"},
		{"name": "host", "key": "ip", "limit": "5/m", "when": ["api.example.com/"]},
		{"name": "condition", "key": "ip", "limit": "5/m", "when": ["name:peak"]},
		{"name": "route", "key": "ip + route", "limit": "5/m"}]}`})
	status, stdout, stderr := runPlan(t, "", "-policy", at("policy.json"), "-json", at("out.json"), at("access.log"))
	if status != exitOK {
		t.Fatalf("the status is %d, want 0; %s", status, stderr)
	}
	for i, r := range readJSON(t, at("out.json")).Rules {
		if left := r.LeftOut != ""; left != (i > 0) || left && r.Requests != 0 {
			t.Errorf("rule %s is left out: %q, with %d requests", r.Name, r.LeftOut, r.Requests)
		}
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), r.LeftOut) {
			t.Errorf("the table does not say: %s", r.LeftOut)
		}
	}
}

func TestPlanFailAbove(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.log": planLog(120, 2, true)})
	for share, want := range map[string]int{"address=10%": exitAbove, "address=99%": exitOK, "login=0%": exitAbove} {
		status, stdout, stderr := runPlan(t, "", "-policy", at("policy.json"), "-fail-above", share, at("access.log"))
		if status != want || !strings.Contains(stdout, "RULE") || (want == exitAbove) != strings.Contains(stderr,
			"-fail-above") {
			t.Errorf("with %s the status is %d, want %d; %s", share, status, want, stderr)
		}
	}
}

// Where nothing was replayed, nothing has been refused; a job is not to take that for good news.
func TestPlanFailAboveOfNothing(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.log": planLog(120, 2, true)})
	for name, tt := range map[string]struct{ args, want string }{
		"another day": {"-from 2025-04-03", "! No request is left to replay: widen -from and -to."},
	} {
		args := append([]string{"-policy", at("policy.json"), "-fail-above", "address=99%"}, strings.Fields(tt.args)...)
		status, stdout, stderr := runPlan(t, "", append(args, at("access.log"))...)
		if status != exitFault || !strings.Contains(stderr, "no request was replayed") ||
			!strings.Contains(stdout, tt.want) || strings.Count(stdout, "widen") != strings.Count(tt.want, "widen") {
			t.Errorf("%s: the status is %d, want 1; %s%s", name, status, stdout, stderr)
		}
	}
}

func TestPlanStandardInput(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy})
	status, stdout, stderr := runPlan(t, planLog(60, 30, true), "-policy", at("policy.json"), "-")
	if status != exitOK || !strings.Contains(stdout, "60 lines of combined") || stderr != "" {
		t.Errorf("the status is %d; %s%s", status, stdout, stderr)
	}
}

func TestPlanFromTo(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.log": planLog(120, 30, true)})
	status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-from", "2025-03-03T09:15:30", "-to",
		"2025-03-03T10:16:00+01:00",
		"-json", at("out.json"), at("access.log"))
	out := readJSON(t, at("out.json"))
	if status != exitOK || out.Input.Parsed != 120 || out.Input.Outside != 90 || out.Rules[0].Requests != 30 {
		t.Errorf("the status is %d, %+v, want 30 of 120 requests; %s", status, out, stderr)
	}
}

// Each warning comes with the log that deserves it, and not with one that is in order.
func TestPlanWarnings(t *testing.T) {
	line := func(client, stamp, rest string) string {
		return fmt.Sprintf("%s - - [%s] \"GET / HTTP/1.1\" 200 7 \"-\" \"Mozilla/5.0\"%s\n", client, stamp, rest)
	}
	many := func(format, stamp string) (text string) {
		for i := range 40 {
			text += fmt.Sprintf(format, i+1, fmt.Sprintf(stamp, i))
		}
		return text
	}
	fine := many("{\"time\":%[2]q,\"client\":\"198.51.100.%[1]d\",\"path\":\"/\",\"status\":200,\"agent\":\"x\"}\n",
		"2025-03-03T09:%02d:07.123Z")
	for name, c := range map[string]struct{ log, want string }{
		"fine":          {fine, ""},
		"whole seconds": {planLog(90, 30, true), "figures for windows under 10 s are estimates"},
		"no zone":       {strings.ReplaceAll(fine, "Z\"", "\""), "have no zone and are taken for UTC"},
		"private":       {planLog(90, 30, false), "All clients have private addresses"},
		"few":           {planLog(90, 19, true), "There are only 19 clients"},
		"one":           {planLog(90, 1, true), "All requests come from one client"},
		"bad lines":     {fine + "x\ny\nz\n", "could not be read"},
		"whole minutes": {many("{\"time\":%[2]q,\"client\":\"198.51.100.%[1]d\"}\n", "2025-03-03T09:%02d:00Z"),
			"All times are whole minutes"},
		"one minute": {many("{\"time\":%[2]q,\"client\":\"198.51.100.%[1]d\"}\n", "2025-03-03T09:15:%02d.5Z"),
			"within one minute"},
		"out of order":    {fine + strings.SplitAfter(fine, "\n")[38], "1 line was out of order and put in order"},
		"too late":        {fine + strings.SplitAfter(fine, "\n")[1], "1 line was left out, being more than 2m behind"},
		"limited already": {strings.Replace(fine, ":200,", ":429,", 1), "answered 429"},
		"untrusted": {line("198.51.100.1", "03/Mar/2025:09:15:00 +0000", ` "192.0.2.7"`) + line("198.51.100.1",
			"03/Mar/2025:09:17:00 +0000", ` "192.0.2.8"`),
			"no proxy is trusted"},
	} {
		at := folder(t, map[string]string{"policy.json": `{"rules": [{"name": "a", "key": "ip", "limit": "5/m"}]}`,
			"access.log": c.log})
		status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-json", at("out.json"), at("access.log"))
		if status != exitOK {
			t.Errorf("%s: the status is %d: %s", name, status, stderr)
			continue
		}
		got := strings.Join(readJSON(t, at("out.json")).Input.Warnings, "\n")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: the warnings are %q, want %q", name, got, c.want)
		}
	}
}

// The walk over proxies is that of production: with the proxies trusted, the chain in the log decides.
func TestPlanTrust(t *testing.T) {
	var log strings.Builder
	for i := range 40 {
		fmt.Fprintf(&log, "10.0.0.%d - - [03/Mar/2025:09:%02d:07 +0000] \"GET / HTTP/1.1\" 200 7 \"-\" \"x\" "+
			"\"192.0.2.9, 198.51.100.%d\"\n", i%2+1, i, i%25+1)
	}
	at := folder(t, map[string]string{"policy.json": `{"rules": [{"name": "a", "key": "ip", "limit": "5/m"}]}`,
		"access.log": log.String()})
	for args, want := range map[string]int{"": 2, "10.0.0.0/8": 25, "10.0.0.1": 21} {
		trust := []string{"-policy", at("policy.json"), "-json", at("out.json")}
		if args != "" {
			trust = append(trust, "-trust", args)
		}
		status, _, stderr := runPlan(t, "", append(trust, at("access.log"))...)
		if out := readJSON(t, at("out.json")); status != exitOK || out.Rules[0].Clients != want || out.Input.Clients != want {
			t.Errorf("with %q trusted there are %d clients, and %d of the rule, want %d; %s", args, out.Input.Clients,
				out.Rules[0].Clients, want, stderr)
		}
	}
}

var address = regexp.MustCompile(`\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`)

// No address, user or query of the input is in anything that -anonymize lets out.
func TestPlanAnonymize(t *testing.T) {
	var log strings.Builder
	secrets := []string{"alice", "token=42", "mallory@example.net"}
	for i := range 300 {
		client := fmt.Sprintf("198.51.100.%d", i%40+1)
		if i%3 == 0 {
			client = fmt.Sprintf("2001:db8:%x::%x", i%7+1, i+1)
		}
		secrets = append(secrets, client)
		fmt.Fprintf(&log, "%s - alice [03/Mar/2025:09:15:%02d +0000] "+
			"\"GET /from/%s/~alice/mallory@example.net?token=42 HTTP/1.1\" 200 7 \"-\" \"bot of %s\"\n",
			client, i/10, client, client)
	}
	log.WriteString("198.51.100.200 is no line\n")
	secrets = append(secrets, "198.51.100.200")
	at := folder(t, map[string]string{"198.51.100.1.log": log.String(), "empty-198.51.100.2.log": "",
		"policy.json": `{"rules": [
		{"name": "a", "key": "ip", "limit": "1/m"}, {"name": "b", "key": "basic", "limit": "2/m"}, {"name": "c",
			"key": "ip + basic", "limit": "1/h"}]}`})
	args := []string{"-policy", at("policy.json"), "-anonymize", "-json", at("out.json"), "-o", at("out.html"),
		at("198.51.100.1.log")}
	status, stdout, stderr := runPlan(t, "", args...)
	if status != exitOK {
		t.Fatalf("the status is %d: %s", status, stderr)
	}
	_, _, faults := runPlan(t, "", "-policy", at("policy.json"), "-anonymize", at("empty-198.51.100.2.log"),
		at("198.51.100.77.log"))
	texts := map[string]string{"table": stdout, "standard error": stderr, "faults": faults}
	for _, name := range []string{"out.json", "out.html"} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	if !strings.Contains(texts["out.html"], "client-") || strings.Count(faults, "\n") != 2 {
		t.Errorf("the page names no client, or the faults are not two: %s", faults)
	}
	for name, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q", name, secret)
			}
		}
		if found := address.FindAllString(text, 3); found != nil {
			t.Errorf("%s holds addresses: %v", name, found)
		}
	}
}

// Everything that a policy says holds as in production.
func TestPlanRules(t *testing.T) {
	var log strings.Builder
	for i := range 600 { // one request a second, of 20 clients in turn
		status, method := 200, "GET /x"
		if i%40 < 20 {
			status, method = 401, "POST /Login/"
		}
		at := time.Date(2025, 3, 3, 9, 15, i, 0, time.UTC).Format("02/Jan/2006:15:04:05 -0700")
		fmt.Fprintf(&log, "198.51.100.%d - - [%s] \"%s HTTP/1.1\" %d 7 \"-\" \"x\"\n", i%20+1, at, method, status)
	}
	for name, c := range map[string]struct {
		rule              string
		requests, refused int
		note              string
	}{
		"all":         {`"limit": "10/h"`, 600, 400, ""},
		"when":        {`"limit": "5/h", "when": ["POST /login"]`, 300, 200, ""},
		"cost":        {`"limit": "10/h", "cost": 5`, 600, 560, ""},
		"countStatus": {`"limit": "10/h", "countStatus": [401]`, 600, 220, ""}, // the 10th failure is the 19th request of 30
		"shadow":      {`"limit": "10/h", "shadow": true`, 600, 400, "The rule is shadow"},
		"percent":     {`"limit": "10/h", "percent": 50`, 600, -1, "more requests would have been refused"},
		"plans":       {`"limit": "10/h", "plans": {"pro": "100/h"}`, 600, 400, "A log tells no client's plan"},
		// all but the first
		"ban":          {`"limit": "1/m", "ban": {"after": 2, "within": "10m", "for": "1h"}`, 600, 580, "by the ban"},
		"notFrom":      {`"limit": "10/h", "notFrom": ["198.51.100.0/28"]`, 150, 100, ""},
		"suspended":    {`"limit": "0/h"`, 600, 600, ""},
		"token bucket": {`"limit": "1/m token-bucket burst=10"`, 600, -1, ""},
		"strict":       {`"limit": "10/h strict-window"`, 600, 400, "arithmetic of sliding-window"},
	} {
		at := folder(t, map[string]string{"access.log": log.String(),
			"policy.json": `{"rules": [{"name": "rule", "key": "ip", ` + c.rule + `}]}`})
		status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-json", at("out.json"), at("access.log"))
		if status != exitOK {
			t.Errorf("%s: the status is %d: %s", name, status, stderr)
			continue
		}
		got := readJSON(t, at("out.json")).Rules[0]
		if got.Requests != c.requests || c.refused >= 0 && got.Refused != c.refused ||
			c.refused < 0 && (got.Refused == 0 || got.Refused >= 400) || !strings.Contains(strings.Join(got.Notes, "\n"),
			c.note) {
			t.Errorf("%s: %d of %d requests were refused, want %d of %d; notes %q", name, got.Refused, got.Requests, c.refused,
				c.requests, got.Notes)
		}
	}
}

// Names in the place of addresses are clients as they stand, and IPv6 addresses count by /64.
func TestPlanClients(t *testing.T) {
	var log strings.Builder
	clients := []string{"pc1.example.net", "pc2.example.net", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "192.0.2.1"}
	for i, client := range append(clients, clients...) {
		fmt.Fprintf(&log, "%s - - [03/Mar/2025:09:15:%02d +0000] \"GET / HTTP/1.1\" 200 7 \"-\" \"x\"\n", client, i)
	}
	at := folder(t, map[string]string{"access.log": log.String(),
		"policy.json": `{"rules": [{"name": "a", "key": "ip", "limit": "1/h"}]}`})
	status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-json", at("out.json"), "-o", at("out.html"),
		at("access.log"))
	if r := readJSON(t, at("out.json")).Rules[0]; status != exitOK || r.Clients != 5 || r.Refused != 7 {
		t.Errorf("%d clients and %d refusals, want 5 and 7; %s", r.Clients, r.Refused, stderr)
	}
	html, err := os.ReadFile(at("out.html"))
	for _, name := range []string{"pc1.example.net", "2001:db8::/64", "192.0.2.1"} {
		if !bytes.Contains(html, []byte(name)) {
			t.Errorf("the page does not name %s: %v", name, err)
		}
	}
}

// A key that a log_format tells is replayed, by the same code as in production.
func TestPlanHeaderKey(t *testing.T) {
	var log strings.Builder
	for i := range 40 {
		fmt.Fprintf(&log, "192.0.2.%d|%d.5|GET / HTTP/1.1|200|user-%d|sid-%d\n", i%20, 1740993300+i, i%4, i%2)
	}
	at := folder(t, map[string]string{"access.log": log.String(), "policy.json": `{"rules": [
		{"name": "user", "key": "header:X-User", "limit": "5/h"},
		{"name": "session", "key": "cookie:sid", "limit": "1000/h"},
		{"name": "both", "key": "header:X-User + ip", "limit": "1/h", "shadow": true},
		{"name": "other", "key": "cookie:other", "limit": "5/h"}]}`})
	status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-json", at("out.json"),
		"-format", "nginx:$remote_addr|$msec|$request|$status|$http_x_user|$cookie_sid", at("access.log"))
	if status != exitOK {
		t.Fatal(stderr)
	}
	rules := readJSON(t, at("out.json")).Rules
	for i, want := range []struct{ clients, refused int }{{4, 20}, {2, 0}, {20, 20}} {
		if rules[i].Clients != want.clients || rules[i].Refused != want.refused {
			t.Errorf("rule %s has %d clients and %d refusals, want %+v", rules[i].Name, rules[i].Clients, rules[i].Refused, want)
		}
	}
	if rules[3].LeftOut == "" {
		t.Error("a cookie that the log does not tell was replayed")
	}
}

func TestProgress(t *testing.T) {
	half := &logFile{size: 1000, raw: &countedReader{}}
	half.raw.n.Store(500)
	p := &progress{logs: &logs{all: []*logFile{half}}, lines: 20_000}
	if got, want := p.text(2*time.Second), "20000 lines, 10000 lines/s, 50 %, 2s left"; got != want {
		t.Errorf("the progress is %q, want %q", got, want)
	}
	half.size = 0 // a pipe
	if got, want := p.text(2*time.Second), "20000 lines, 10000 lines/s"; got != want {
		t.Errorf("the progress of a pipe is %q, want %q", got, want)
	}
}

// A line of a time that no log can have is one that cannot be read, and not the end of the command.
func TestPlanFarFuture(t *testing.T) {
	at := folder(t, map[string]string{"policy.json": planPolicy, "access.csv": "time,client,path\n" +
		"2025-03-03T09:15:00Z,192.0.2.1,/\n2105-12-31T23:59:59Z,192.0.2.1,/\n2106-01-01T00:00:00Z,192.0.2.1,/\n" +
		"9999-01-01T00:00:00Z,192.0.2.1,/\n99999999999,192.0.2.1,/\n",
		"future.csv": "time,client\n2105-12-31T23:59:58.5Z,192.0.2.1\n2105-12-31T23:59:59Z,192.0.2.1\n",
		"later.csv": "time,client\n2105-01-01T00:00:00Z,192.0.2.1\n2200-01-01T00:00:00Z,192.0.2.1\n" +
			"2200-01-01T00:00:01Z,192.0.2.1\n"})
	for name, want := range map[string]struct{ read, bad int }{"access.csv": {2, 3}, "future.csv": {2, 0},
		"later.csv": {1, 2}} {
		status, _, stderr := runPlan(t, "", "-policy", at("policy.json"), "-format", "csv", "-json", at("out.json"), at(name))
		if got := readJSON(t, at("out.json")).Input; status != exitOK || got.Bad != want.bad || got.Parsed != want.read {
			t.Errorf("%s: the status is %d, %+v, want %+v; %s", name, status, got, want, stderr)
		}
	}
}
