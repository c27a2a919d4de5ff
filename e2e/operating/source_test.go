package operating_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is what the code says about its log.
type source struct {
	lines    map[string][]string // level and attributes, by message; … stands for what is known at run time only
	codes    []string            // of warnings about the setup
	observed []string            // attributes of LogObserver

	through map[string][]string // what a function adds to the message that it is given, by its name
	passed  map[string][]string // messages that are given to it
}

// logged are the folders whose code writes a log.
var logged = []string{".", "console", "limiter", "internal"}

// readSource reads all code that users of the root and of the stores have in their programs.
func readSource(t *testing.T, root string) *source {
	t.Helper()
	s := &source{
		lines:   make(map[string][]string),
		through: make(map[string][]string), passed: make(map[string][]string),
	}
	for _, folder := range logged {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (folder == "." && path != root || entry.Name() == "example" || entry.Name() == "testdata"):
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				return s.readFile(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, messages := range s.passed {
		for _, message := range messages {
			s.lines["httplimit: "+message] = s.through[name]
		}
	}
	return s
}

func (s *source) readFile(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, declaration := range file.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				s.call(f.Name.Name, filepath.Base(path), n)
			case *ast.ReturnStmt:
				if f.Name.Name == "message" { // of a keyKind, for warnOnce
					s.pass("warnOnce", n.Results[0])
				}
			}
			return true
		})
	}
	return nil
}

// call reads a call within a function.
func (s *source) call(within, file string, call *ast.CallExpr) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		name = f.Sel.Name
		if from, ok := f.X.(*ast.Ident); ok && from.Name == "slog" && len(call.Args) == 2 {
			name = "slog." + name
		}
	case *ast.Ident:
		name = f.Name
	}
	switch {
	case slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, name) && len(call.Args) > 0:
		s.line(within, strings.ToLower(name), call)
	case name == "warnOnce" && len(call.Args) == 3:
		s.pass("warnOnce", call.Args[1])
	case name == "note" && within == "undecided":
		s.pass(within, call.Args[1])
	case name == "once" && within == "newKeyWarnings":
		s.codes = append(s.codes, text(call.Args[0]))
	case file == "log_observer.go" && strings.HasPrefix(name, "slog."):
		s.observed = append(s.observed, text(call.Args[0]))
	case file == "log_observer.go" && name == "waitAttr":
		s.observed = append(s.observed, "retry_after")
	}
}

// line reads a call that writes a line.
func (s *source) line(within, level string, call *ast.CallExpr) {
	message := text(call.Args[0])
	if !strings.Contains(message, ": ") {
		return // no line of ours
	}
	names := []string{level}
	for i := 1; i < len(call.Args); i += 2 {
		names = append(names, text(call.Args[i]))
	}
	if message == "httplimit: …" && within != "warnSetup" {
		s.through[within] = names
		return
	}
	s.lines[message] = names
}

func (s *source) pass(to string, message ast.Expr) {
	if message := text(message); message != "…" {
		s.passed[to] = append(s.passed[to], message)
	}
}

// text returns the text of an expression, and … for the parts of it that are known at run time only.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil {
			return s
		}
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	}
	return "…"
}
