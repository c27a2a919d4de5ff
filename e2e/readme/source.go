package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

const clause = "package fragment\n"

// Source returns the block as a Go file that compiles if the block does. Faults are reported at their lines of the
// Markdown file.
func (b Block) Source() (string, error) {
	if _, err := b.parse("", "", parser.PackageClauseOnly); err == nil {
		return b.located(), nil
	}
	_, declarationsErr := b.parse(clause, "", parser.SkipObjectResolution)
	if declarationsErr == nil && b.Signature == "" {
		return b.withImports(b.located())
	}

	head, tail := b.function(), "}\n"
	file, err := b.parse(clause+head, tail, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("neither declarations (%v) nor statements (%w)", declarationsErr, err)
	}
	return b.withImports(head + b.located() + closing(file.Decls[0].(*ast.FuncDecl)) + tail)
}

func (b Block) parse(before, after string, mode parser.Mode) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "", before+b.located()+after, mode)
}

// located returns the code with a directive that makes the compiler report lines of the Markdown file.
func (b Block) located() string { return b.directive() + b.Code }

func (b Block) directive() string { return fmt.Sprintf("//line %s:%d\n", b.File, b.Line) }

// function is the head of the function in which the block's statements stand.
func (b Block) function() string {
	if b.Signature == "" {
		return "func _() {\n"
	}
	return "func _" + strings.TrimPrefix(b.Signature, "func") + " {\n"
}

// closing returns statements that use the fragment's unused variables and replace its missing return.
func closing(function *ast.FuncDecl) string {
	var code strings.Builder
	for _, statement := range function.Body.List {
		for _, variable := range defined(statement) {
			if id, ok := variable.(*ast.Ident); ok && id.Name != "_" {
				fmt.Fprintf(&code, "_ = %s\n", id.Name)
			}
		}
	}
	if function.Type.Results != nil {
		code.WriteString("panic(`the end of the fragment`)\n")
	}
	return code.String()
}

// defined returns the variables that a statement defines. The compiler accepts unused constants and types.
func defined(statement ast.Stmt) []ast.Expr {
	var names []ast.Expr
	switch s := statement.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return s.Lhs
		}
	case *ast.DeclStmt:
		declaration := s.Decl.(*ast.GenDecl)
		for _, spec := range declaration.Specs {
			if variables, ok := spec.(*ast.ValueSpec); ok && declaration.Tok == token.VAR {
				for _, id := range variables.Names {
					names = append(names, id)
				}
			}
		}
	}
	return names
}
