package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	for name, tt := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string // a part of what is written there; "": nothing is
	}{
		"nothing":           {code: exitFault, stderr: "Commands:"},
		"help":              {args: []string{"help"}, stdout: "httplimit check policy.json"},
		"-h":                {args: []string{"-h"}, stdout: "Exit status: 0;"},
		"--help":            {args: []string{"--help"}, stdout: "Commands:"},
		"no such command":   {args: []string{"replay"}, code: exitFault, stderr: `no command "replay". See httplimit help.`},
		"version":           {args: []string{"version"}, stdout: "httplimit "},
		"version of a word": {args: []string{"version", "x"}, code: exitFault, stderr: "takes no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(tt.args, strings.NewReader(""), &stdout, &stderr); code != tt.code {
				t.Errorf("got exit status %d, want %d", code, tt.code)
			}
			checkText(t, "standard output", stdout.String(), tt.stdout)
			checkText(t, "standard error", stderr.String(), tt.stderr)
		})
	}
}

// checkText wants a text that contains want, or none if want is empty.
func checkText(t *testing.T, place, got, want string) {
	t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want %q in it", place, got, want)
	}
}

// What is told of files and policies holds no character by which a terminal does something.
func TestNoControlCharacters(t *testing.T) {
	const escape, reversed = "\x1b[31m", "\u202e"
	policy := `{"rules": [{"name": "a", "key": "ip", "limit": "1/m", "when": ["/` + reversed + `x"]}]}`
	at := folder(t, map[string]string{escape + ".json": policy, escape + "bad.json": "{}"})
	for _, args := range [][]string{{"check", at(escape + ".json")}, {"check", at(escape + "bad.json")},
		{"check", at(escape)},
		{"plan", "-policy", at(escape), at(escape)}, {"plan", "-policy", at(escape + ".json"), at(escape + ".json")}} {
		var stdout, stderr bytes.Buffer
		run(args, strings.NewReader(""), &stdout, &stderr)
		text := stdout.String() + stderr.String()
		if !strings.Contains(text, "·[31m") || strings.Contains(text, "\x1b") || strings.Contains(text, reversed) {
			t.Errorf("%q: got %q, want a dot for each character that is no text", args, text)
		}
	}
}
