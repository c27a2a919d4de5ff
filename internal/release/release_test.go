package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	rootMod  = "module github.com/httplimit/httplimit\n\ngo 1.25.0\n"
	storeMod = "module github.com/httplimit/httplimit/store\n\ngo 1.25.0\n\n" +
		"replace github.com/httplimit/httplimit => ..\n\nrequire github.com/httplimit/httplimit v0.0.0\n"
	commandMod = "module github.com/httplimit/httplimit/cmd/tool\n\ngo 1.25.0\n\n" +
		"replace github.com/httplimit/httplimit => ../..\n\nrequire github.com/httplimit/httplimit v0.0.0\n"
	changes = "# Changelog\n\n## [Unreleased]\n\n- A store.\n"
)

// repository makes a clone with a root, a store, a command and modules that are not published, enters it, and changes
// the files that are given.
func repository(t *testing.T, changed map[string]string, tags ...string) {
	t.Helper()
	list, err := os.ReadFile("../../.ci/modules")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	files := map[string]string{
		".ci/modules": string(list), "CHANGELOG.md": changes,
		"go.mod": rootMod, "store/go.mod": storeMod, "store/store.go": "package store\n",
		"cmd/tool/go.mod": commandMod, "cmd/tool/main.go": "package main\n\nfunc main() {}\n",
	}
	for _, folder := range []string{"e2e", "benchmarks", "benchmarks/observers", "examples/observed"} {
		files[folder+"/go.mod"] = "module github.com/httplimit/httplimit/" + folder + "\n\ngo 1.25.0\n"
	}
	for name, text := range changed {
		files[name] = text
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	git(t, "init", "-q")
	git(t, "add", ".")
	git(t, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "all")
	git(t, "config", "user.name", "a")
	git(t, "config", "user.email", "a@example.com")
	for _, tag := range tags {
		git(t, "tag", tag)
	}
}

func git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(".", "git", args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func TestFaults(t *testing.T) {
	replaced := func(text, old, with string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in %q", old, text)
		}
		return strings.ReplaceAll(text, old, with)
	}
	dated := "## [0.2.0] - 2026-01-02\n\n- A store.\n"
	for name, c := range map[string]struct {
		args    string
		changed map[string]string
		tags    []string
		want    string
	}{
		"no version":         {args: "v1", want: "version \"v1\" is none"},
		"path without major": {args: "v2.0.0", want: "needs module paths that end in /v2"},
		"older than a tag":   {args: "v0.1.9", tags: []string{"v0.2.0"}, want: "older than v0.2.0"},
		"tagged nested":      {tags: []string{"v0.2.0", "store/v0.2.0"}, want: "store/v0.2.0 exists"},
		"empty changelog":    {changed: map[string]string{"CHANGELOG.md": "## [Unreleased]\n"}, want: "no entries"},
		"undated": {
			changed: map[string]string{"CHANGELOG.md": "## [0.2.0]\n\n- A.\n"},
			want:    "has no date",
		},
		"entries of another": {
			changed: map[string]string{"CHANGELOG.md": "## [Unreleased]\n\n## [0.1.0] - 2025-01-02\n\n- A.\n"},
			want:    "no entries",
		},
		"wrong module path": {
			changed: map[string]string{"store/go.mod": replaced(storeMod, "/store", "/shop")},
			want:    "want github.com/httplimit/httplimit/store",
		},
		"newer go line": {
			changed: map[string]string{"go.mod": replaced(rootMod, "1.25.0", "1.26.0")},
			want:    "go 1.26.0, want 1.25.0",
		},
		"replaces another": {
			changed: map[string]string{"store/go.mod": storeMod + "replace example.com/a => ../a\n"},
			want:    "replaces example.com/a",
		},
		"replaces elsewhere": {
			changed: map[string]string{"store/go.mod": replaced(storeMod, "=> ..", "=> ../../other")},
			want:    "inside the repository",
		},
		"replaces absolutely": {
			changed: map[string]string{"store/go.mod": replaced(storeMod, "=> ..", "=> /tmp")},
			want:    "want a relative path",
		},
		"replaces by no module": {
			changed: map[string]string{"store/go.mod": replaced(storeMod, "=> ..", "=> ../cmd/tool")},
			want:    "where the module is \"github.com/httplimit/httplimit/cmd/tool\"",
		},
		"not replaced": {
			changed: map[string]string{"store/go.mod": replaced(storeMod, "replace github.com/httplimit/httplimit => ..\n", "")},
			want:    "without a replace line",
		},
		"requires what is not published": {
			changed: map[string]string{"store/go.mod": storeMod + "require github.com/httplimit/httplimit/e2e v0.0.0\n"},
			want:    "which is never published",
		},
		"requires a nested one that is not published": {
			changed: map[string]string{
				"store/go.mod": storeMod + "require github.com/httplimit/httplimit/benchmarks/observers v0.0.0\n",
			},
			want: "which is never published",
		},
		"second step, old requirement": {
			tags: []string{"v0.2.0"},
			want: "store/go.mod: requires github.com/httplimit/httplimit v0.0.0, want v0.2.0",
		},
		"second step, replaced in a command": {tags: []string{"v0.2.0"}, want: "cmd/tool/go.mod: has replace lines"},
		"no date on the day":                 {args: "v0.2.0", want: "no entries for v0.2.0"},
		"changes on the day": {
			args:    "v0.2.0",
			changed: map[string]string{"CHANGELOG.md": dated, "new": "untracked"},
			want:    "not committed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t, c.changed, c.tags...)
			args := []string{"--dry-run", "v0.2.0"}
			if c.args != "" {
				args[1] = c.args
			}
			if strings.HasSuffix(name, "on the day") {
				args = args[1:]
			}
			if c.changed["new"] != "" {
				git(t, "rm", "-q", "--cached", "new")
			}
			var out strings.Builder
			err := run(args, &out)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("release %v: %v, want an error with %q", args, err, c.want)
			}
		})
	}
}

func TestDryRunTagsNothing(t *testing.T) {
	repository(t, nil, "v0.1.0")
	var out strings.Builder
	if err := run([]string{"--dry-run"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "  tag v0.2.0\n") {
		t.Errorf("printed %q, want the tag v0.2.0", out.String())
	}
	if tags := git(t, "tag", "--list"); tags != "v0.1.0" {
		t.Errorf("tags are %q, want v0.1.0 alone", tags)
	}
}

func TestBothSteps(t *testing.T) {
	repository(t, map[string]string{"CHANGELOG.md": "## [0.2.0] - 2026-01-02\n\n- A store.\n"}, "v0.1.0")
	var out strings.Builder
	if err := run([]string{"v0.2.0"}, &out); err != nil {
		t.Fatal(err)
	}
	if tags := git(t, "tag", "--list"); tags != "v0.1.0\nv0.2.0" {
		t.Fatalf("after the first step the tags are %q", tags)
	}

	for name, text := range map[string]string{
		"store/go.mod": strings.ReplaceAll(storeMod, "v0.0.0", "v0.2.0"),
		"cmd/tool/go.mod": strings.NewReplacer(
			"replace github.com/httplimit/httplimit => ../..\n", "", "v0.0.0", "v0.2.0").Replace(commandMod),
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, "commit", "-qam", "v0.2.0")
	if err := run([]string{"v0.2.0"}, &out); err != nil {
		t.Fatal(err)
	}
	if tags := git(t, "tag", "--list"); tags != "cmd/tool/v0.2.0\nstore/v0.2.0\nv0.1.0\nv0.2.0" {
		t.Errorf("after both steps the tags are %q", tags)
	}
}

// TestPublished: the modules of this repository that a release tags. A new one is published on purpose only.
func TestPublished(t *testing.T) {
	t.Chdir("../..")
	modules, err := published()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range modules {
		got = append(got, m.folder)
	}
	want := []string{
		".", "adapters/echo", "adapters/echo5", "adapters/fiber", "adapters/fiber3", "adapters/gin", "cmd/httplimit",
		"limiter/memcachestore", "limiter/redisstore", "metrics/otel", "metrics/prometheus",
	}
	if !slices.Equal(got, want) {
		t.Errorf("a release tags\n%q, want\n%q", got, want)
	}
}
