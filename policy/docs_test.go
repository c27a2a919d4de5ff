package policy_test

import (
	"net/http"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/policy"
)

// document is the reference of the file. Its Go is compiled in e2e/readme, its YAML read in cmd/httplimit.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the blocks of a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(document(t), -1) {
		all = append(all, m[1])
	}
	if len(all) == 0 {
		t.Fatalf("the document has no block of %s", language)
	}
	return all
}

func TestDocumentPolicies(t *testing.T) {
	for _, text := range blocks(t, "json") {
		n := names()
		n.Keys["tenant"] = n.Keys["user"]
		if _, err := mustParse(t, text).Config(n); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestREADME: so is that of the README.
func TestREADME(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, behind, found := strings.Cut(string(text), "\n## Limits in a file\n\n```json\n")
	if !found {
		t.Fatal("the README has no Limits in a file that begin with a policy")
	}
	block, _, _ := strings.Cut(behind, "```")
	if _, err := mustParse(t, block).Config(policy.Names{}); err != nil {
		t.Error(err)
	}
}

func TestDocumentFaults(t *testing.T) {
	faulty, told := blocks(t, "faults"), blocks(t, "text")
	for i, text := range faulty {
		_, err := policy.Parse([]byte(text))
		got := ""
		for _, fault := range policy.Faults(err) {
			got += "policy.json:" + fault.Text() + "\n"
		}
		if got != told[i] {
			t.Errorf("got\n%swant\n%s", got, told[i])
		}
	}
}

// rows returns the tables of the document behind a heading, a list of cells each.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	_, text, found := strings.Cut(document(t), "\n"+heading+"\n")
	if !found {
		t.Fatalf("the document has no %s", heading)
	}
	text, _, _ = strings.Cut(text, "\n#")
	var all [][]string
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.Trim(line, "|\n"), " | "); strings.HasPrefix(line, "| `") {
			all = append(all, cells)
		}
	}
	return all
}

// TestDocumentNames: the tables have the names of the file, all of them, in whatever order.
func TestDocumentNames(t *testing.T) {
	for heading, of := range map[string]reflect.Type{
		"## The file": reflect.TypeFor[policy.Policy](), "## A rule": reflect.TypeFor[policy.Rule](),
	} {
		want := make(map[string]bool)
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
				want[name] = true
			}
		}
		for _, row := range rows(t, heading) {
			name := strings.Trim(row[0], " `")
			if !want[name] {
				t.Errorf("%s: %q is no name, or stands there twice", heading, name)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("%s: %v are missing", heading, want)
		}
	}
}

var quotedText = regexp.MustCompile("`([^`]+)`")

// TestDocumentRequests: each example of what a pattern matches, and what not.
func TestDocumentRequests(t *testing.T) {
	all := rows(t, "### Requests")
	if len(all) < 4 {
		t.Fatalf("got %d rows, want the table of examples", len(all))
	}
	for _, row := range all {
		pattern := quotedText.FindStringSubmatch(row[0])[1]
		method := http.MethodGet
		if before, _, found := strings.Cut(pattern, " "); found {
			method = before
		}
		for i, want := range []bool{true, false} {
			for _, example := range quotedText.FindAllStringSubmatch(row[i+1], -1) {
				method, target := method, example[1]
				if before, behind, found := strings.Cut(target, " "); found {
					method, target = before, behind
				}
				host, path, _ := strings.Cut(target, "/")
				u, err := url.ParseRequestURI("/" + path)
				if err != nil {
					t.Fatal(err)
				}
				if got := applies(t, &http.Request{Method: method, URL: u, Host: host}, pattern); got != want {
					t.Errorf("%s for %s: got %v, want %v", pattern, example[1], got, want)
				}
			}
		}
	}
}

// TestDocumentKeys: each identity of the table is one.
func TestDocumentKeys(t *testing.T) {
	for _, row := range rows(t, "### Keys") {
		for _, m := range quotedText.FindAllStringSubmatch(row[0], -1) {
			if _, err := policy.ParseKey(m[1]); err != nil {
				t.Error(err)
			}
		}
	}
}
