package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/cmd/httplimit/internal/report"
	"github.com/httplimit/httplimit/cmd/httplimit/internal/shoplog"
)

//go:generate go test -count=1 -run=TestPlanningPage . -update

var update = flag.Bool("update", false, "write the pictures of docs/planning.md")

// The page docs/planning.md tells what the command says of the made up log, and shows what it draws.
func TestPlanningPage(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "planning.md"))
	if os.IsNotExist(err) {
		t.Skip("docs/planning.md is not there: the module was downloaded on its own")
	}
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "access.log")
	writeShopLog(t, log)

	policies := filepath.Join(docs, "planning")
	guess := []string{"-policy", filepath.Join(policies, "guess.json"), log}
	second := []string{"-policy", filepath.Join(policies, "policy.json"), log}
	fail := append([]string{"-fail-above", "address=0.5%", "-fail-above", "search=1%"}, second...)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		shown  func(stdout, stderr string) string
	}{
		{"the guess", guess, exitOK, func(stdout, _ string) string { return stdout }},
		{"the decision", second, exitOK, rulesOnly},
		{"the check", fail, exitAbove, func(_, stderr string) string { return stderr }},
	} {
		var stdout, stderr bytes.Buffer
		status := plan(c.args, nil, &stdout, &stderr)
		if shown := "```\n" + c.shown(stdout.String(), stderr.String()) + "```\n"; !strings.Contains(string(text), shown) {
			t.Errorf("%s: the page does not show\n%s", c.name, shown)
		}
		if status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, stderr.String())
		}
	}
	guessed, err := os.ReadFile(filepath.Join(policies, "guess.json"))
	if err != nil || !strings.Contains(string(text), "```json\n"+string(guessed)+"```\n") {
		t.Errorf("the page does not show guess.json: %v", err)
	}
	checkPictures(t, guess, policies)
}

func writeShopLog(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := shoplog.Write(f); err != nil {
		t.Fatal(err)
	}
}

// rulesOnly is the table of rules, without what is said below it.
func rulesOnly(stdout, _ string) string {
	from := strings.Index(stdout, "RULE ")
	to := strings.Index(stdout[max(from, 0):], "\n\n")
	if from < 0 || to < 0 {
		return stdout
	}
	return stdout[from : from+to+1]
}

func checkPictures(t *testing.T, args []string, folder string) {
	t.Helper()
	o, err := parsePlan(args, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	data, err := o.replay(nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		file, rule string
		which      int
	}{{"address-peaks.svg", "address", 2}, {"search-curve.svg", "search", 3}, {"login-clients.svg", "login", 5}} {
		var picture bytes.Buffer
		if err := report.WritePicture(&picture, data, p.rule, p.which); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(folder, p.file)
		if *update {
			if err := os.WriteFile(name, picture.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if was, err := os.ReadFile(name); err != nil || !bytes.Equal(was, picture.Bytes()) {
			t.Errorf("%s is not what the command draws, go generate ./... writes it: %v", name, err)
		}
	}
}
