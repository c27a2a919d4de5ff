// Package readme compiles the Go code in Markdown documents and resolves the links between them.
//
// A block that begins with a package clause is a whole file. Any other block is a fragment, either of declarations
// or of the statements of a function; it imports the packages that it names (see importPaths). Where statements use
// variables that only the text around the block introduces, a comment above the block declares them, which readers do
// not see:
//
//	<!-- in func(mux *http.ServeMux) error -->
//	```go
//	...
//	return http.ListenAndServe("127.0.0.1:8080", limited(mux))
//	```
//
// Unused variables of a fragment are not reported. Above a table the comment makes the last column of each row, in
// backquotes, a statement. With a type before the word in, it makes it a value of that type:
//
//	<!-- limiter.Limit in func(n int64) -->
//	| your wish | limit |
//	|---|---|
//	| per minute | `limiter.PerMinute(n)` |
//
// Documents about other libraries name their packages, and say there in front of in where a block is of them. The first
// column of a table is theirs too, then, and the last one ours:
//
//	<!-- packages limiter=github.com/ulule/limiter/v3 -->
//	<!-- there in func() -->
//	| there | here |
//	|---|---|
//	| `limiter.Rate{Period: time.Minute, Limit: 5}` | `limiter.PerMinute(5)` |
package readme

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"maps"
	"regexp"
	"strings"
)

// Block is one fenced block of Go code in a Markdown file, or one value in a table.
type Block struct {
	File      string // as given to Blocks
	Line      int    // of the first line of Code, counted from 1
	Signature string // of the function in which Code stands, such as "func(mux *http.ServeMux) error"; or ""
	Code      string

	Packages map[string]string // the paths of packages that the document names, by name, where it is about them
}

// Blocks returns the blocks of Go code in a Markdown text, in order. A block that never ends and a row without code are
// errors.
func Blocks(file, markdown string) ([]Block, error) {
	s := scanner{file: file}
	for i, line := range strings.Split(markdown, "\n") {
		if err := s.scan(i+1, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	if s.fence != nil {
		return nil, fmt.Errorf("%s:%d: the block is never closed", file, s.block.Line-1)
	}
	return s.blocks, nil
}

var (
	fence    = regexp.MustCompile("^( *)(`{3,}|~{3,}) *([^ `]*)")
	packages = regexp.MustCompile(`^ *<!-- packages (.*) -->$`)
	first    = regexp.MustCompile("^\\| *`([^`]+)`")
	comment  = regexp.MustCompile(`^ *<!-- (?:(\S+) )?in (func.*) -->$`)
	value    = regexp.MustCompile("`([^`]+)` *\\| *$")
)

// scanner reads a Markdown text line by line.
type scanner struct {
	file   string
	blocks []Block

	fence []string // the parts of the fence that opened the block; nil outside a block
	block Block    // the one that is open

	signature, valueType string // from the comment that waits for its block or table
	packages             map[string]string
	rows                 int // of the table so far; the first two are its head
}

func (s *scanner) scan(number int, line string) error {
	parts := fence.FindStringSubmatch(line)
	switch {
	case s.fence == nil && parts != nil:
		s.fence, s.block = parts, Block{File: s.file, Line: number + 1, Signature: s.signature}
		if s.valueType == there {
			s.block.Packages = s.packages
		}
	case s.fence == nil:
		return s.scanText(number, line)
	case parts != nil && parts[3] == "" && strings.HasPrefix(parts[2], s.fence[2]):
		if isGo(s.fence[3]) {
			s.blocks = append(s.blocks, s.block)
		}
		s.fence, s.signature, s.valueType = nil, "", ""
	default:
		s.block.Code += strings.TrimPrefix(line, s.fence[1]) + "\n"
	}
	return nil
}

// scanText reads a line outside of blocks. Only empty lines may stand between a comment and its block or table.
func (s *scanner) scanText(number int, line string) error {
	if parts := packages.FindStringSubmatch(line); parts != nil {
		s.packages = map[string]string{}
		for _, pair := range strings.Fields(parts[1]) {
			name, path, _ := strings.Cut(pair, "=")
			s.packages[name] = path
		}
		return nil
	}
	if parts := comment.FindStringSubmatch(line); parts != nil {
		s.valueType, s.signature, s.rows = parts[1], parts[2], 0
		return nil
	}
	switch inTable := strings.HasPrefix(line, "|"); {
	case inTable && s.signature != "":
		return s.scanRow(number, line)
	case inTable, strings.TrimSpace(line) != "", s.rows > 0:
		s.signature, s.valueType = "", ""
	}
	return nil
}

func (s *scanner) scanRow(number int, line string) error {
	s.rows++
	if s.rows <= 2 {
		return nil
	}
	parts := value.FindStringSubmatch(line)
	if parts == nil {
		return errors.New("no code in backquotes ends the row")
	}
	ours := Block{File: s.file, Line: number, Signature: s.signature}
	code := strings.ReplaceAll(parts[1], `\|`, "|") // escaped in a table
	switch {
	case s.valueType == there:
		theirs := first.FindStringSubmatch(line)
		if theirs == nil {
			return errors.New("no code in backquotes begins the row")
		}
		block := ours
		block.Code, block.Packages = statement(theirs[1]), s.packages
		s.blocks = append(s.blocks, block)
		ours.Code, ours.Packages = statement(code), foreign(s.packages)
	case s.valueType != "":
		ours.Code = fmt.Sprintf("var _ %s = %s\n", s.valueType, code)
	default:
		ours.Code = code + "\n"
	}
	s.blocks = append(s.blocks, ours)
	return nil
}

// foreign returns the packages whose names are not those of ours: both sides of a table share a signature.
func foreign(packages map[string]string) map[string]string {
	packages = maps.Clone(packages)
	maps.DeleteFunc(packages, func(name, _ string) bool { _, ours := importPaths[name]; return ours })
	return packages
}

// there is the word before the word in where code is of the library that the document is about.
const there = "there"

// statement makes a value a statement; a call is one.
func statement(code string) string {
	expression, err := parser.ParseExpr(code)
	if _, call := expression.(*ast.CallExpr); err != nil || call {
		return code + "\n"
	}
	return "var _ any = " + code + "\n"
}

func isGo(language string) bool {
	return strings.EqualFold(language, "go") || strings.EqualFold(language, "golang")
}
