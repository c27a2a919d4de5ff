// Package operating_test holds docs/operating.md against the code: the log lines with the names of their attributes,
// which are stable, the metrics, and the alerts.
package operating_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestLogLinesAreDocumented(t *testing.T) {
	code, documented := readSource(t, root), documentedLines(t)
	if len(code.lines) < 15 {
		t.Fatalf("found only %d lines in the code: %v", len(code.lines), code.lines)
	}
	for message, names := range code.lines {
		begins := slices.DeleteFunc(slices.Collect(maps.Keys(documented)), func(begin string) bool {
			return !strings.HasPrefix(message, begin) || begin == "httplimit: …" && message != begin
		})
		if len(begins) != 1 {
			t.Errorf("%q is documented by %q, want one row of the table", message, begins)
			continue
		}
		if want := documented[begins[0]]; !slices.Equal(names, want) {
			t.Errorf("%q has level and attributes %q, and %q are documented", message, names, want)
		}
		delete(documented, begins[0])
	}
	for begin := range documented {
		t.Errorf("%q is documented, and no line of the code begins so", begin)
	}
}

func TestAttributesOfLogObserverAreDocumented(t *testing.T) {
	text := read(t, "docs/operating.md")
	begin := strings.Index(text, "`LogObserver` writes two more")
	if begin < 0 {
		t.Fatal("no paragraph about LogObserver")
	}
	sentence, _, _ := strings.Cut(text[begin:], ";")
	_, listed, _ := strings.Cut(strings.ReplaceAll(sentence, "\n", " "), "with ")
	if want, got := readSource(t, root).observed, quoted(listed); !slices.Equal(got, want) {
		t.Errorf("documented: %q, written: %q", got, want)
	}
}

func TestCodesAreDocumented(t *testing.T) {
	var got []string
	row := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
	for _, row := range row.FindAllStringSubmatch(read(t, "docs/operating.md"), -1) {
		got = append(got, row[1])
	}
	want := readSource(t, root).codes
	slices.Sort(got)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("documented: %q, written: %q", got, want)
	}
}

// A metric that is not in the page, or one that promlimit does not have.
func TestMetricsAreDocumented(t *testing.T) {
	names := regexp.MustCompile("`(httplimit_[a-z_]+)`")
	all := func(file string) (found []string) {
		for _, m := range names.FindAllStringSubmatch(read(t, file), -1) {
			found = append(found, m[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	got, want := all("docs/operating.md"), all("metrics/prometheus/README.md")
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("documented: %q, promlimit's README has: %q", got, want)
	}
}

// Each alert's runbook_url leads to a section of the page.
func TestAlertsHaveSections(t *testing.T) {
	page := read(t, "docs/operating.md")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "metrics/grafana/alerts.yaml"), -1)
	rules := read(t, "metrics/grafana/alerts.yaml")
	for _, alert := range alerts {
		if !strings.Contains(page, "\n### "+alert[1]+"\n") {
			t.Errorf("%s has no section", alert[1])
		}
		if link := "docs/operating.md#" + strings.ToLower(alert[1]) + "\n"; !strings.Contains(rules, link) {
			t.Errorf("%s does not link to %s", alert[1], link)
		}
	}
	if len(alerts) == 0 {
		t.Error("no alerts")
	}
}

// documentedLines returns level and names of attributes by how a message begins, from the table of the page.
func documentedLines(t *testing.T) map[string][]string {
	t.Helper()
	lines := make(map[string][]string)
	row := regexp.MustCompile("(?m)^\\| `((?:httplimit|redisstore): [^`]*)`[^|]* \\| (\\w+) \\|([^|]*)\\|")
	for _, found := range row.FindAllStringSubmatch(read(t, "docs/operating.md"), -1) {
		lines[found[1]] = append([]string{found[2]}, quoted(found[3])...)
	}
	return lines
}

// quoted returns what stands between backquotes.
func quoted(text string) []string {
	all := []string{}
	for _, found := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
