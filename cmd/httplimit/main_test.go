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
