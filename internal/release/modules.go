package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const root = "github.com/httplimit/httplimit"

// unpublished reports whether the module of a folder is for this repository alone: whatever stands in e2e, benchmarks
// and examples, so that a new module there is never tagged for want of a name in a list.
func unpublished(folder string) bool {
	top, _, _ := strings.Cut(folder, "/")
	return top == "e2e" || top == "benchmarks" || top == "examples"
}

// module is what the go.mod of a folder says.
type module struct {
	folder string // "." for the root
	// command is whether the folder is a program, for `go install`. That refuses a go.mod with replace lines.
	command bool

	Module  struct{ Path string }
	Go      string
	Require []struct{ Path, Version string }
	Replace []struct {
		Old struct{ Path string }
		New struct{ Path, Version string }
	}
}

// published reads the go.mod of every module that releases tag.
func published() ([]module, error) {
	folders, err := command(".", ".ci/modules")
	if err != nil {
		return nil, err
	}
	var modules []module
	for _, folder := range strings.Fields(folders) {
		if folder = path.Clean(folder); unpublished(folder) {
			continue
		}
		m, err := read(folder)
		if err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	if len(modules) == 0 || modules[0].folder != "." {
		return nil, errors.New("run it in the root of the repository")
	}
	return modules, nil
}

func read(folder string) (module, error) {
	m := module{folder: folder}
	text, err := command(folder, "go", "mod", "edit", "-json")
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("%s/go.mod: %w", folder, err)
	}
	m.command = hasMain(folder)
	return m, nil
}

// hasMain reports whether there is a program in the folder. `go list` could not tell where a requirement is not to be
// had yet.
func hasMain(folder string) bool {
	names, _ := filepath.Glob(filepath.Join(folder, "*.go")) // the pattern is right
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil && file.Name.Name == "main" {
			return true
		}
	}
	return false
}

// ours reports whether path is a module of this repository.
func ours(path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

// target returns the folder that a replace line leads to, seen from the root of the repository, and the path of the
// module there: "" if there is none.
func (m *module) target(to string) (folder, modulePath string) {
	folder = filepath.ToSlash(filepath.Join(m.folder, to))
	t, err := read(folder)
	if err != nil {
		return folder, ""
	}
	return folder, t.Module.Path
}

// command runs a program in a folder and returns what it printed.
func command(folder, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = folder
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %s", name, strings.Join(args, " "), strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}
