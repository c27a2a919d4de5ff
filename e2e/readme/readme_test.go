package readme_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/httplimit/httplimit/e2e/readme"
)

// The documents of the root module use every module, so they are compiled here, in a module that requires all of them;
// those about other limiters in the module that requires these. Documents of other modules are compiled there.
func TestDocuments(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := documents(t, root)
	if !slices.Contains(files, filepath.Join(root, "README.md")) {
		t.Errorf("there is no README.md in %s", root)
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			blocks := blocksOf(t, file)
			t.Logf("%d blocks", len(blocks))
			if name == "README.md" && len(blocks) == 0 {
				t.Error("README.md has no Go block")
			}
			module := moduleOf(t, file)
			switch {
			case filepath.Base(filepath.Dir(file)) == "migrating":
				module = filepath.Join(root, "benchmarks")
			case module == root:
				module = filepath.Join(root, "e2e")
			}
			if err := readme.Compile(module, t.TempDir(), blocks); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryKindOfBlockCompiles(t *testing.T) {
	t.Parallel()
	blocks := blocksOf(t, abs(t, "testdata/good.md"))
	if len(blocks) != 17 {
		t.Errorf("got %d blocks, want 17", len(blocks))
	}
	if err := readme.Compile(abs(t, ".."), t.TempDir(), blocks); err != nil {
		t.Error(err)
	}
}

func TestFaultsAreReportedAtTheirLines(t *testing.T) {
	t.Parallel()
	for name, wants := range map[string][]string{
		"broken.md": {
			"broken.md:6:", "undefined: limiter.PerFortnight",
			"broken.md:13:", "declared and not used: unused",
			"broken.md:19:", "neither declarations (", "nor statements (",
			"broken.md:27:", "undefined: mux",
			"broken.md:36:", "undefined: limiter.PerFortnight",
			"broken.md:37:", "cannot use limiter.Per (value of type",
			"broken.md:44:", "is not used",
		},
		"foreign.md": {"foreign.md:4:", "no required module provides package"},
	} {
		t.Run(name, func(t *testing.T) {
			err := readme.Compile(abs(t, ".."), t.TempDir(), blocksOf(t, abs(t, "testdata/"+name)))
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant it to tell %q", err, want)
				}
			}
		})
	}
}

func TestUnreadableMarkdown(t *testing.T) {
	for name, tc := range map[string]struct{ markdown, want string }{
		"a block that is never closed": {"text\n```go\npackage main\n", "a.md:2: "},
		"a value that is not code": {
			"<!-- int in func() -->\n| n | value |\n|---|---|\n| one | `1` |\n| two | 2 |\n", "a.md:5: ",
		},
		"no code of the other library": {
			"<!-- there in func() -->\n| there | here |\n|---|---|\n| one | `1` |\n", "a.md:4: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			blocks, err := readme.Blocks("a.md", tc.markdown)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, %v, want an error at %s", blocks, err, tc.want)
			}
		})
	}
}

// documents returns the Markdown files below root, in lexical order: the root's README is among the first.
func documents(t *testing.T, root string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case filepath.Ext(name) == ".md":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// moduleOf returns the folder of the module to which file belongs.
func moduleOf(t *testing.T, file string) string {
	t.Helper()
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			t.Fatalf("%s belongs to no module: %v", file, err)
		}
	}
}

func blocksOf(t *testing.T, file string) []readme.Block {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := readme.Blocks(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
