package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "../.."

// sources parses the program's Go files without tests.
func sources(t *testing.T, visit func(name string, file *ast.File, set *token.FileSet)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(module, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); strings.HasPrefix(base, ".") && name != module || base == "testdata" || base == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(module, name)
		visit(filepath.ToSlash(relative), file, set)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// catalogues are the files that define messages, and the one with those that the client
// knows. Keywords define their own.
var catalogues = []string{"engine/message/builtin.go", "resources/catalogue/catalogue.go", "client/codes.go"}

const keywords = "engine/schema/keyword/"

// makers are the files that make a Definition: for a set, and of a schema.
var makers = []string{"engine/message/set.go", "engine/schema/compile.go"}

var looksLikeCode = regexp.MustCompile(`^(error|warning|audit|notification)(\.[a-z0-9]+)+$`)

// TestCodesAreDefinedOnce checks that the service sends no code that is missing
// from the catalogue: messages are created from definitions, definitions by sets,
// and codes occur only in the files of catalogues.
func TestCodesAreDefinedOnce(t *testing.T) {
	made := 0
	sources(t, func(name string, file *ast.File, set *token.FileSet) {
		own := file.Name.Name == "message" && strings.HasPrefix(name, "engine/message/")
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CompositeLit:
				switch typeName(n.Type, own) {
				case "Definition":
					if made++; !slices.Contains(makers, name) {
						t.Errorf("%s makes a definition", set.Position(n.Pos()))
					}
				case "Message":
					if !own && len(n.Elts) > 0 {
						t.Errorf("%s makes a message without a definition", set.Position(n.Pos()))
					}
				}
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "new" && len(n.Args) == 1 && typeName(n.Args[0], own) == "Definition" {
					t.Errorf("%s makes a definition", set.Position(n.Pos()))
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && looksLikeCode.MatchString(text) && !slices.Contains(catalogues, name) && !strings.HasPrefix(name, keywords) {
					t.Errorf("%s spells the code %s", set.Position(n.Pos()), text)
				}
			}
			return true
		})
	})
	if made < len(makers) {
		t.Errorf("%d definitions are made: the scan does not see them", made)
	}
}

// typeName is the name of a type of this package, "" for another.
func typeName(expr ast.Expr, own bool) string {
	switch e := expr.(type) {
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok && pkg.Name == "message" {
			return e.Sel.Name
		}
	case *ast.Ident:
		if own {
			return e.Name
		}
	}
	return ""
}

// TestTextsAreFilledIn checks that all parameters of a text are given wherever
// they are literals.
func TestTextsAreFilledIn(t *testing.T) {
	definitions := definitionTexts(t)
	used := 0
	sources(t, func(name string, file *ast.File, set *token.FileSet) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			name, given := defined(call), []string{}
			if fn, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Fault" && len(call.Args) == 3 {
				// A change adds its place.
				name, given = selected(call.Args[0]), []string{"field", "type", "objectId"}
			}
			text, known := definitions[name]
			keys, literal := paramNames(call.Args[len(call.Args)-1])
			if !known || !literal {
				return true
			}
			used++
			for _, placeholder := range placeholderForm.FindAllString(text, -1) {
				if param := strings.Trim(placeholder, "{}"); !slices.Contains(append(given, keys...), param) {
					t.Errorf("%s: %s lacks %s", set.Position(call.Pos()), name, param)
				}
			}
			return true
		})
	})
	if used < 50 {
		t.Errorf("%d places were found: the scan does not see them", used)
	}
}

// definitionTexts are the texts of the definitions, by the package and the name of
// their variable.
func definitionTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	sources(t, func(name string, file *ast.File, _ *token.FileSet) {
		if !slices.Contains(catalogues, name) {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if call, ok := spec.Values[0].(*ast.CallExpr); ok {
				if literal, ok := call.Args[len(call.Args)-1].(*ast.BasicLit); ok {
					texts[file.Name.Name+"."+spec.Names[0].Name], _ = strconv.Unquote(literal.Value)
				}
			}
			return true
		})
	})
	if len(texts) <= len(builtIn.All()) {
		t.Fatalf("%d definitions have a variable: the scan does not see them", len(texts))
	}
	return texts
}

// defined names the definition of a call message.X.Error(…) or
// message.X.With(…).
func defined(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Error" && method.Sel.Name != "With" {
		return ""
	}
	return selected(method.X)
}

func selected(expr ast.Expr) string {
	if s, ok := expr.(*ast.SelectorExpr); ok {
		if pkg, ok := s.X.(*ast.Ident); ok {
			return pkg.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// paramNames are the keys of parameters that are written out, or nil.
func paramNames(expr ast.Expr) (names []string, literal bool) {
	if name, ok := expr.(*ast.Ident); ok && name.Name == "nil" {
		return nil, true
	}
	params, ok := expr.(*ast.CompositeLit)
	if !ok || typeName(params.Type, false) != "Params" {
		return nil, false
	}
	for _, element := range params.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			if key, ok := pair.Key.(*ast.BasicLit); ok {
				name, _ := strconv.Unquote(key.Value)
				names = append(names, name)
			}
		}
	}
	return names, true
}
