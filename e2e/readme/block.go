// Package readme compiles the Go code in READMEs.
//
// A block that begins with a package clause is a whole file. Any other block is a fragment, either of declarations
// or of statements as they stand in a function; its imports are those of the names that it uses (see importPaths).
// What statements take from the text around them, the line above the block declares, in a comment that readers do
// not see:
//
//	<!-- in func(mux *http.ServeMux) error -->
//	```go
//	...
//	return http.ListenAndServe("127.0.0.1:8080", limited(mux))
//	```
//
// Variables that a fragment leaves unused are no fault.
package readme

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is one fenced block of Go code in a Markdown file.
type Block struct {
	File      string // as given to Blocks
	Line      int    // of the first line of Code, counted from 1
	Signature string // what the comment above it declares, such as "func(mux *http.ServeMux) error"; or ""
	Code      string
}

var (
	fence     = regexp.MustCompile("^( *)(`{3,}|~{3,}) *([^ `]*)")
	signature = regexp.MustCompile(`^ *<!-- in (func\(.*) -->$`)
)

// Blocks returns the Go blocks of a Markdown text in their order. A block that is never closed is an error.
func Blocks(file, markdown string) ([]Block, error) {
	var (
		blocks []Block
		block  Block
		opened []string // the parts of the opening fence, nil outside a block
		above  string   // the signature that waits for its block
	)
	for i, line := range strings.Split(markdown, "\n") {
		parts := fence.FindStringSubmatch(line)
		switch {
		case opened == nil && parts != nil:
			opened, block = parts, Block{File: file, Line: i + 2, Signature: above}
		case opened == nil:
			above = signatureIn(line, above)
		case parts != nil && parts[3] == "" && strings.HasPrefix(parts[2], opened[2]):
			if isGo(opened[3]) {
				blocks = append(blocks, block)
			}
			opened, above = nil, ""
		default:
			block.Code += strings.TrimPrefix(line, opened[1]) + "\n"
		}
	}
	if opened != nil {
		return nil, fmt.Errorf("%s:%d: the block is never closed", file, block.Line-1)
	}
	return blocks, nil
}

// signatureIn returns the signature in line. Empty lines may stand between it and its block, nothing else.
func signatureIn(line, above string) string {
	if parts := signature.FindStringSubmatch(line); parts != nil {
		return parts[1]
	}
	if strings.TrimSpace(line) == "" {
		return above
	}
	return ""
}

func isGo(language string) bool {
	return strings.EqualFold(language, "go") || strings.EqualFold(language, "golang")
}
