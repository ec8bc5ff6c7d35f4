package engine_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows are what each folder may import of the project, besides itself;
// the most exact folder counts. Arrows point inward: command to auth, resources and
// auth to engine; adapters know the port, and not each other. The client knows
// nothing of the server.
var arrows = map[string][]string{
	"cmd":     {"command", "resources"},
	"command": {".", "auth", "client", "command", "engine"},
	// The inner packages of command know neither the application nor its commands.
	"command/backup":   {".", "auth", "engine"},
	"command/copying":  {"auth/seal", "engine/document", "engine/migration", "engine/store"},
	"command/exit":     {},
	"command/health":   {".", "command/exit"},
	"command/limits":   {"engine/rest"},
	"command/metrics":  {".", "auth", "engine"},
	"command/settings": {"engine/document"},
	"command/socket":   {},
	"command/terminal": {"command/exit", "engine/progress", "engine/transfer"},
	"resources":        {".", "console", "engine", "resources", "schemas"},
	// The inner packages of resources know neither the engine nor the application, but one of
	// them passes on the trace of a request.
	"resources/article/index":      {"resources/article/index", "resources/article/language"},
	"resources/article/language":   {},
	"resources/article/embeddings": {"engine/trace", "resources/article/index"},
	"resources/creative/layout":    {},
	"resources/catalogue":          {"engine/message"},
	".":                            {"auth", "console", "engine", "schemas/base"},
	"console":                      {"engine"},
	"auth":                         {"auth", "engine"},
	"auth/apitoken":                {"auth/cache", "auth/rights", "auth/signing", "engine"},
	"auth/session":                 {"auth/cache", "auth/password", "auth/rights", "auth/signing", "engine"},
	"auth/rights":                  {"auth/cache", "auth/password", "engine"},
	"auth/signing":                 {"engine/catalog", "engine/generations", "engine/message", "engine/query", "engine/store"},
	"auth/password":                {"auth/commonpasswords", "engine/message", "engine/schema", "engine/store", "engine/turn"},
	"auth/seal":                    {"engine/catalog"},
	"auth/cache":                   {"engine/generations", "engine/store"},
	"auth/commonpasswords":         {},
	"client":                       {},
	"schemas":                      {"schemas/base"},
	"docs":                         {"schemas", "engine/schema/keyword"},
	"engine":                       {"engine/access", "engine/catalog", "engine/read", "engine/schema", "engine/store", "engine/migration", "engine/write", "engine/written"},
	"engine/read":                  {"engine/access", "engine/catalog", "engine/document", "engine/history", "engine/message", "engine/parallel", "engine/query", "engine/schema", "engine/store", "engine/written"},
	"engine/write":                 {"engine/access", "engine/budget", "engine/catalog", "engine/document", "engine/expiry", "engine/generations", "engine/history", "engine/message", "engine/parallel", "engine/query", "engine/schema", "engine/schema/keyword", "engine/schema/rule", "engine/store", "engine/walk", "engine/write/numbers", "engine/write/staging", "engine/written"},
	"engine/write/numbers":         {"engine/schema/keyword", "engine/store", "engine/walk"},
	"engine/write/staging":         {"engine/catalog", "engine/store"},
	"engine/written":               {"engine/schema", "engine/store"},
	"engine/migration":             {"engine/catalog", "engine/document", "engine/history", "engine/message", "engine/progress", "engine/query", "engine/schema", "engine/store", "engine/walk"},
	"engine/verify":                {"engine/catalog", "engine/document", "engine/message", "engine/query", "engine/schema", "engine/schema/diff", "engine/schema/keyword", "engine/schema/rule", "engine/store"},
	"engine/walk":                  {"engine/store"},
	"engine/catalog":               {"engine/document", "engine/message", "engine/query", "engine/schema", "engine/schema/keyword", "engine/store"},
	"engine/access":                {"engine/document", "engine/catalog", "engine/query", "engine/schema", "engine/store"},
	"engine/history":               {"engine/document", "engine/message", "engine/store"},
	"engine/parallel":              {},
	"engine/progress":              {},
	"engine/turn":                  {},
	"engine/trace":                 {},
	"engine/disk":                  {},
	"engine/budget":                {"engine/message", "engine/turn"},
	"engine/event":                 {},
	"engine/expiry":                {"engine/query", "engine/store"},
	"engine/generations":           {},
	"engine/histogram":             {},
	"engine/message":               {},
	"engine/document":              {"engine/message"},
	"engine/query":                 {"engine/document", "engine/message"},
	"engine/schema":                {"engine/document", "engine/message", "engine/parallel", "engine/query", "engine/schema/dialect", "engine/schema/files", "engine/schema/keyword", "engine/schema/rule", "engine/schema/validation"},
	"engine/schema/dialect":        {"engine/document"},
	"engine/schema/files":          {"engine/document"},
	"engine/schema/diff":           {"engine/document", "engine/schema", "engine/schema/dialect"},
	"engine/schema/keyword":        {"engine/document", "engine/message", "engine/schema/rule"},
	"engine/schema/rule":           {"engine/document"},
	"engine/schema/validation":     {"engine/document", "engine/message", "engine/schema/dialect"},
	"engine/listen":                {"engine/message", "engine/store"},
	"engine/rest/header":           {"engine/listen"},
	"engine/rest":                  {"engine", "engine/budget", "engine/document", "engine/event", "engine/listen", "engine/message", "engine/query", "engine/read", "engine/histogram", "engine/rest/header", "engine/schema", "engine/spool", "engine/store", "engine/trace"},
	"engine/openapi":               {"engine", "engine/document", "engine/message", "engine/query", "engine/rest", "engine/schema", "engine/schema/dialect", "engine/schema/keyword"},
	"engine/review":                {"engine", "engine/document", "engine/message", "engine/query", "engine/store", "engine/walk"},
	"engine/transfer":              {"engine", "engine/document", "engine/message", "engine/schema", "engine/schema/keyword", "engine/store"},
	"engine/spool":                 {"engine/disk", "engine/message"},
	"engine/folder":                {"engine/store"},
	"engine/store":                 {"engine/document", "engine/histogram", "engine/message", "engine/query"},
	"engine/store/sqlite":          {"engine/disk", "engine/document", "engine/histogram", "engine/query", "engine/store", "engine/turn"},
	"engine/store/mongo":           {"engine/histogram", "engine/query", "engine/store", "engine/store/mongo/plan", "engine/store/mongo/record", "engine/turn"},
	// The inner packages of mongo do not know the adapter.
	"engine/store/mongo/plan":       {"engine/document", "engine/query", "engine/store", "engine/store/mongo/record"},
	"engine/store/mongo/record":     {"engine/document", "engine/query", "engine/store"},
	"engine/store/mongo/replicaset": {},
}

// walls are the libraries that one package alone, with those below it, may import, by the
// beginning of their paths.
var walls = map[string]string{
	"github.com/gin-gonic/":  "engine/rest",
	"go.mongodb.org/":        "engine/store/mongo",
	"github.com/ncruces/":    "engine/store/sqlite",
	"github.com/fsnotify/":   "engine/folder",
	"cel.dev/":               "engine/schema/rule",
	"github.com/prometheus/": "command/metrics",
}

func TestArrowsPointInward(t *testing.T) {
	seen := 0
	eachImport(t, func(file, folder, path string) {
		for library, owner := range walls {
			if strings.HasPrefix(path, library) && !within(folder, []string{owner}) {
				t.Errorf("%s imports %s, which only %s may", file, path, owner)
			}
		}
		if domain, _, _ := strings.Cut(path, "/"); folder == "client" && strings.Contains(domain, ".") {
			t.Errorf("%s imports %s, but the client needs the standard library alone", file, path)
		}
		inner, own := strings.CutPrefix(path, "marquee/")
		if path == "marquee" {
			inner, own = ".", true
		}
		if !own || inner == folder {
			return
		}
		seen++
		rule := ruleOf(folder)
		if allowed, known := arrows[rule]; !known || !allows(rule, allowed, inner) {
			t.Errorf("%s imports %s", file, path)
		}
	})
	if seen < 30 {
		t.Errorf("%d imports: the scan does not see them", seen)
	}
}

// ruleOf finds the folder that a rule is made for.
func ruleOf(folder string) string {
	for rule := folder; rule != "."; rule = filepath.ToSlash(filepath.Dir(rule)) {
		if _, known := arrows[rule]; known {
			return rule
		}
	}
	return folder
}

// allows reports whether an import is among those of a rule. Outside the
// engine, a folder stands for all that is in it; only command may choose a store, for
// which the embedded one is the default of package marquee. It alone has backups.
func allows(rule string, allowed []string, inner string) bool {
	if strings.HasPrefix(rule, "engine") {
		return slices.Contains(allowed, inner)
	}
	if strings.HasPrefix(inner, "engine/store/") {
		return rule == "command" || (rule == "command/backup" || rule == ".") && inner == "engine/store/sqlite"
	}
	return within(inner, allowed)
}

func within(folder string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return folder == root || strings.HasPrefix(folder, root+"/") })
}

// eachImport calls visit for what the program's files import, tests and the
// suites that are no part of the program left out.
func eachImport(t *testing.T, visit func(file, folder, path string)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch base := entry.Name(); {
			case strings.HasPrefix(base, ".") && name != "..", base == "testdata", base == "integration", base == "storetest", base == "resourcetest", base == "authtest":
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel("..", name)
		for _, spec := range file.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			visit(filepath.ToSlash(relative), filepath.ToSlash(filepath.Dir(relative)), path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A package is named for the concept that it serves.
func TestNoGrabBags(t *testing.T) {
	eachImport(t, func(file, folder, _ string) {
		for _, part := range strings.Split(folder, "/") {
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "models"}, part) {
				t.Errorf("%s is in a package without a concept", file)
			}
		}
	})
}
