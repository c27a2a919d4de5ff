package frameworks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAdaptersOfOneFamilyAreAlike: what the adapters for two major versions of a framework do alike stands in both, as
// they are modules of their own, in the same words but for what the framework has renamed.
func TestAdaptersOfOneFamilyAreAlike(t *testing.T) {
	echo := strings.NewReplacer("echolimit", "echo5limit", "echo.Context", "*echo.Context")
	fiber := strings.NewReplacer("fiberlimit", "fiber3limit", "*fiber.Ctx", "fiber.Ctx", "SetUserContext", "SetContext",
		"UserContext()", "Context()", "c.Context()", "c.RequestCtx()", ").Context().Set", ").RequestCtx().Set",
		"c.Route().Path", "c.FullPath()")
	for _, family := range []struct {
		older, newer string
		renamed      *strings.Replacer
		names        []string
	}{
		{"echo", "echo5", echo, []string{"From", "Request", "settlement", "settle", "upgrade", "Hijack", "Unwrap", "deny"}},
		{"fiber", "fiber3", fiber, []string{"Deny", "From", "Request", "convert", "bodyLength", "target", "setFields", "deny",
			"plain", "mayHaveTrailers", "hasLine", "streamEnd", "Close", "request", "Context", "Method", "Route", "HTTP",
			"RemoteAddr", "check", "peer", "LendLine", "asString", "Values", "answer", "written", "status"}},
	} {
		older, newer := declarations(t, family.older), declarations(t, family.newer)
		for _, name := range family.names {
			was, is := family.renamed.Replace(older[name]), newer[name]
			if family.newer == "echo5" && name == "deny" {
				was = strings.ReplaceAll(was, "problemError", "refuse")
			}
			if was == "" || was != is {
				t.Errorf("%s of adapters/%s is, renamed,\n%s\nand of adapters/%s\n%s",
					name, family.older, was, family.newer, is)
			}
		}
	}
}

// declarations returns the source of an adapter's functions, methods and types by name.
func declarations(t *testing.T, adapter string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "adapters", adapter, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	sources := make(map[string]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			source := string(text[declaration.Pos()-file.FileStart : declaration.End()-file.FileStart])
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				sources[d.Name.Name] = source
			case *ast.GenDecl:
				if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
					sources[spec.Name.Name] = source
				}
			}
		}
	}
	return sources
}
