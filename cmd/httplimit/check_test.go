package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"shop.json": `{"rules": [
			{"name": "address", "key": "ip", "limit": "300/m"},
			{"name": "login", "key": "ip + name:user", "limit": "5/15m", "when": ["POST /login", "name:api"], "private": true,
			 "percent": 50, "plans": {"pro": "9/m", "big": "99/m"}, "ban": {"after": 20, "within": "10m", "for": "1h"}}]}`,
		"one.yaml": "rules:\n- {name: all, key: everyone, limit: 5/s, shadow: true}\n",
		"bad.json": "{\"rules\": [\n{\"name\": \"a\", \"key\": \"ip\", \"limit\": \"5\"},\n" +
			"{\"name\": \"a\", \"key\": \"ip\"}]}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const shop = "shop.json: 2 rules, no faults\n" +
		"  address  300/m  ip\n" +
		"  login    5/15m  ip + name:user  POST /login, name:api, ban, private, plans big pro, 50 % of the keys\n" +
		"  the program brings Names.Keys user, Names.When api, Names.Plan\n"
	const all = "one.yaml: 1 rule, no faults\n  all  5/s  everyone  shadow\n"
	for name, tt := range map[string]struct {
		args, stdin    string
		code           int
		stdout, stderr string // all of what is written there
	}{
		"JSON": {args: "shop.json", stdout: shop},
		"YAML": {args: "one.yaml", stdout: all},
		"standard input": {args: "-", stdin: "rules:\n- {name: all, key: everyone, limit: 5/s, shadow: true}\n",
			stdout: strings.Replace(all, "one.yaml", "standard input", 1)},
		"quiet": {args: "-q one.yaml shop.json"},
		"faults": {args: "bad.json", code: exitFault, stderr: `bad.json:2:37: rules[0] "a".limit: cannot read limit "5": ` +
			`want N/[N]unit [algorithm] [burst=N], such as "100/m", "5/15s", "20/s token-bucket burst=40"; units are ms, s, ` +
			"m, h and d\n" + `bad.json:3:1: rules[1] "a".limit: it is missing` + "\n" +
			`bad.json:3:10: rules[1] "a".name: "a" is the name of rules[0] already, want unique names` + "\n"},
		"some with faults": {args: "none.json one.yaml", code: exitFault, stdout: all,
			stderr: "none.json: no such file or directory\n"},
		"no file": {code: exitFault, stderr: "httplimit check: there is no policy: name its file, or - for standard input. " +
			"See httplimit check -h.\n"},
		"no flag": {args: "-strict one.yaml", code: exitFault,
			stderr: "httplimit check: flag provided but not defined: -strict. See httplimit check -h.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"check"}, strings.Fields(tt.args)...)
			if code := run(args, strings.NewReader(tt.stdin), &stdout, &stderr); code != tt.code {
				t.Errorf("got exit status %d, want %d", code, tt.code)
			}
			if stdout.String() != tt.stdout {
				t.Errorf("standard output:\ngot  %s\nwant %s", stdout.String(), tt.stdout)
			}
			if stderr.String() != tt.stderr {
				t.Errorf("standard error:\ngot  %s\nwant %s", stderr.String(), tt.stderr)
			}
		})
	}
}

func TestCheckHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"check", "-h"}, nil, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("got exit status %d and %q, want 0 and nothing", code, stderr.String())
	}
	checkText(t, "standard output", stdout.String(), "usage: httplimit check [-q] FILE...|-")
	checkText(t, "standard output", stdout.String(), "-q\tprint nothing about a policy that is in order")
}

// TestCheckOfTheExample: the policy of examples/reload, which docs name, is in order.
func TestCheckOfTheExample(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/policy.*")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v and %v, want the policies of the examples", files, err)
	}
	var stdout, stderr bytes.Buffer
	if code := run(append([]string{"check"}, files...), nil, &stdout, &stderr); code != exitOK {
		t.Errorf("got exit status %d: %s", code, stderr.String())
	}
}

// TestREADME: the policy of the README is answered as it says.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, behind, found := strings.Cut(string(text), "```"+language+"\n")
		if !found {
			t.Fatalf("README.md has no block of %s", language)
		}
		inside, _, _ := strings.Cut(behind, "```")
		return inside
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("policy.yaml", []byte(block("yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"check", "policy.yaml"}, nil, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("got exit status %d and %s", code, stderr.String())
	}
	if want := block("text"); stdout.String() != want {
		t.Errorf("got\n%swant\n%s", stdout.String(), want)
	}
}
