package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// importPaths are the packages that fragments may use without importing them, by name.
var importPaths = map[string]string{
	"cmp":      "cmp",
	"context":  "context",
	"errors":   "errors",
	"fmt":      "fmt",
	"httptest": "net/http/httptest",
	"httputil": "net/http/httputil",
	"http":     "net/http",
	"io":       "io",
	"json":     "encoding/json",
	"log":      "log",
	"netip":    "net/netip",
	"net":      "net",
	"os":       "os",
	"slog":     "log/slog",
	"strconv":  "strconv",
	"strings":  "strings",
	"sync":     "sync",
	"synctest": "testing/synctest",
	"testing":  "testing",
	"time":     "time",
	"url":      "net/url",

	"httplimit":     "github.com/httplimit/httplimit",
	"console":       "github.com/httplimit/httplimit/console",
	"limiter":       "github.com/httplimit/httplimit/limiter",
	"limitertest":   "github.com/httplimit/httplimit/limiter/limitertest",
	"policy":        "github.com/httplimit/httplimit/policy",
	"memstore":      "github.com/httplimit/httplimit/limiter/memstore",
	"kvstore":       "github.com/httplimit/httplimit/limiter/kvstore",
	"storekit":      "github.com/httplimit/httplimit/limiter/storekit",
	"redisstore":    "github.com/httplimit/httplimit/limiter/redisstore",
	"memcachestore": "github.com/httplimit/httplimit/limiter/memcachestore",
	"echolimit":     "github.com/httplimit/httplimit/adapters/echo",
	"echo5limit":    "github.com/httplimit/httplimit/adapters/echo5",
	"ginlimit":      "github.com/httplimit/httplimit/adapters/gin",
	"fiberlimit":    "github.com/httplimit/httplimit/adapters/fiber",
	"fiber3limit":   "github.com/httplimit/httplimit/adapters/fiber3",

	"rate":     "golang.org/x/time/rate",
	"chi":      "github.com/go-chi/chi/v5",
	"echo":     "github.com/labstack/echo/v4",
	"fiber":    "github.com/gofiber/fiber/v2",
	"gin":      "github.com/gin-gonic/gin",
	"memcache": "github.com/bradfitz/gomemcache/memcache",
	"redis":    "github.com/redis/go-redis/v9",
}

// withImports returns a whole file of the declarations, with imports of those packages of importPaths that they use and
// do not import themselves. Only a type checker distinguishes a package from a variable of the same name, so one checks
// the file with all packages imported, all of them empty. Its errors are ignored: the compiler reports the real ones.
func (b Block) withImports(declarations string) (string, error) {
	files := token.NewFileSet()
	own, err := parser.ParseFile(files, "", clause+declarations, parser.ImportsOnly)
	if err != nil {
		return "", err
	}
	paths := b.importPaths()
	everything := clause + importDeclarations(paths, notImported(paths, own)) + declarations
	file, err := parser.ParseFile(files, "", everything, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	checker := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	_, _ = checker.Check("fragment", files, []*ast.File{file}, &info)

	var names []string
	for _, name := range notImported(paths, own) {
		if uses(info, name) {
			names = append(names, name)
		}
	}
	return clause + b.directive() + importDeclarations(paths, names) + declarations, nil
}

// newerPaths replace those of importPaths in the READMEs of adapters for newer major versions, by folder.
var newerPaths = map[string]map[string]string{
	"echo5":  {"echo": "github.com/labstack/echo/v5"},
	"fiber3": {"fiber": "github.com/gofiber/fiber/v3"},
}

// importPaths are the packages that the block may use without importing them: those of the document go before ours.
func (b Block) importPaths() map[string]string {
	paths := maps.Clone(importPaths)
	maps.Copy(paths, newerPaths[filepath.Base(filepath.Dir(b.File))])
	maps.Copy(paths, b.Packages)
	return paths
}

// notImported returns the names of paths that file does not import, in their order.
func notImported(paths map[string]string, file *ast.File) []string {
	missing := maps.Clone(paths)
	for _, spec := range file.Imports {
		maps.DeleteFunc(missing, func(_, path string) bool { return strconv.Quote(path) == spec.Path.Value })
	}
	return slices.Sorted(maps.Keys(missing))
}

func importDeclarations(paths map[string]string, names []string) string {
	var code strings.Builder
	for _, name := range names {
		fmt.Fprintf(&code, "import %s %q; ", name, paths[name]) // one line, that of the block
	}
	return code.String() + "\n"
}

func uses(info types.Info, name string) bool {
	for _, object := range info.Uses {
		if pkg, ok := object.(*types.PkgName); ok && pkg.Name() == name {
			return true
		}
	}
	return false
}

type emptyPackages struct{}

func (emptyPackages) Import(importPath string) (*types.Package, error) {
	empty := types.NewPackage(importPath, path.Base(importPath))
	empty.MarkComplete()
	return empty, nil
}
