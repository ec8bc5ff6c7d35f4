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

// sources parses the program's Go files, tests left out.
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

// born are the places where a definition is made: the catalogue, and the
// compiler of schemas, which adds it to the registry's catalogue.
var born = []string{"engine/message/catalogue.go", "engine/schema/compile.go"}

var looksLikeCode = regexp.MustCompile(`^(error|warning|audit|notification)(\.[a-z0-9]+)+$`)

// TestCodesAreBornInTheCatalogue proves that no code can leave the service that
// the catalogue does not hold: nothing else makes a definition, a message has
// no other source, and no other file spells a code.
func TestCodesAreBornInTheCatalogue(t *testing.T) {
	made := 0
	sources(t, func(name string, file *ast.File, set *token.FileSet) {
		own := file.Name.Name == "message" && strings.HasPrefix(name, "engine/message/")
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.CompositeLit:
				switch typeName(n.Type, own) {
				case "Definition":
					if made++; !slices.Contains(born, name) {
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
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && looksLikeCode.MatchString(text) && !own {
					t.Errorf("%s spells the code %s", set.Position(n.Pos()), text)
				}
			}
			return true
		})
	})
	if made < len(born) {
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

// TestTextsAreFilledIn wants each text to have its parameters wherever they
// are written out.
func TestTextsAreFilledIn(t *testing.T) {
	definitions := definitionNames(t)
	used := 0
	sources(t, func(name string, file *ast.File, set *token.FileSet) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			def, given := definitions[defined(call)], []string{}
			if fn, ok := call.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Fault" && len(call.Args) == 3 {
				// A change adds its place.
				def, given = definitions[selected(call.Args[0])], []string{"field", "type", "objectId"}
			}
			keys, literal := paramNames(call.Args[len(call.Args)-1])
			if def == nil || !literal {
				return true
			}
			used++
			for _, placeholder := range placeholderForm.FindAllString(def.Text, -1) {
				if name := strings.Trim(placeholder, "{}"); !slices.Contains(append(given, keys...), name) {
					t.Errorf("%s: %s lacks %s", set.Position(call.Pos()), def.Code, name)
				}
			}
			return true
		})
	})
	if used < 50 {
		t.Errorf("%d places were found: the scan does not see them", used)
	}
}

// definitionNames maps the variables of the catalogue to its definitions.
func definitionNames(t *testing.T) map[string]*Definition {
	t.Helper()
	byCode := map[string]*Definition{}
	for _, def := range builtIn {
		byCode[def.Code] = def
	}
	names := map[string]*Definition{}
	sources(t, func(_ string, file *ast.File, _ *token.FileSet) {
		if file.Name.Name != "message" {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			ast.Inspect(spec.Values[0], func(node ast.Node) bool {
				if literal, ok := node.(*ast.BasicLit); ok {
					if code, err := strconv.Unquote(literal.Value); err == nil && byCode[code] != nil {
						names[spec.Names[0].Name] = byCode[code]
					}
				}
				return true
			})
			return true
		})
	})
	if len(names) != len(builtIn) {
		t.Fatalf("%d of %d definitions have a variable", len(names), len(builtIn))
	}
	return names
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
	if s, ok := expr.(*ast.SelectorExpr); ok && typeName(s, false) != "" {
		return s.Sel.Name
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
