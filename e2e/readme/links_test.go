package readme_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/e2e/readme"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	total := 0
	for _, file := range documents(t, abs(t, "../..")) {
		for _, link := range linksOf(t, file) {
			total++
			if err := link.Resolve(); err != nil {
				t.Error(err)
			}
		}
	}
	if total == 0 {
		t.Error("no document has a link")
	}
}

// TestEveryPageIsInAnIndex: the README links to the index, and the index of each folder of docs to its pages.
func TestEveryPageIsInAnIndex(t *testing.T) {
	t.Parallel()
	root := abs(t, "../..")
	linked := map[string]bool{}
	for _, file := range documents(t, root) {
		if filepath.Base(file) != "README.md" {
			continue
		}
		for _, link := range linksOf(t, file) {
			linked[file+" "+filepath.Join(filepath.Dir(file), link.Path)] = true
		}
	}
	for _, file := range documents(t, filepath.Join(root, "docs")) {
		index := filepath.Join(filepath.Dir(file), "README.md")
		if file == index {
			index = filepath.Join(root, "README.md")
		}
		if !linked[index+" "+file] {
			t.Errorf("%s does not link to %s", index, file)
		}
	}
}

// TestPagesAreShort: a page of docs is read in one sitting, and so is the README, which has the tables beside.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	root := abs(t, "../..")
	most := map[string]int{filepath.Join(root, "README.md"): 220}
	for _, file := range documents(t, filepath.Join(root, "docs")) {
		most[file] = 200
	}
	for file, most := range most {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > most {
			t.Errorf("%s has %d lines, want %d at most", file, n, most)
		}
	}
}

func TestBrokenLinksAreReported(t *testing.T) {
	t.Parallel()
	file := abs(t, "testdata/links.md")
	var got []string
	for _, link := range linksOf(t, file) {
		if err := link.Resolve(); err != nil {
			got = append(got, err.Error())
		}
	}
	wants := []string{":16:", ":17:", ":18:", ":19:"}
	if len(got) != len(wants) {
		t.Fatalf("got %q, want %d broken links", got, len(wants))
	}
	for i, want := range wants {
		if !strings.Contains(got[i], file+want) {
			t.Errorf("got %s, want it to tell %q", got[i], want)
		}
	}
}

func linksOf(t *testing.T, file string) []readme.Link {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	links, err := readme.Links(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return links
}
