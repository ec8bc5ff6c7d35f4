package program

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestReload goes through the life of a folder of schemas while requests run.
func TestReload(t *testing.T) { service.EachStore(t, testReload) }

func testReload(t *testing.T, fresh service.NewStore) {
	store, dir := fresh(t), t.TempDir()
	f := process.Folder{Process: process.Serve(t, store, "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	f.Ask(http.StatusNotFound, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"name": "G"}`)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/orders/o?context=main", `{"name": "An order"}`)
	requests := process.Traffic(f.Process)

	// A new type: all routes, validation, references, history, batch.
	f.Drop("gadgets.json", process.Schema("gadgets"), process.Loaded)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"name": "G", "order": "o"}`)
	f.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/h?context=main", `{"order": "o"}`)
	f.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/h?context=main", `{"name": "H", "order": "missing"}`)
	f.Ask(http.StatusOK, http.MethodPost, "/api/v1/batch?context=main",
		`{"operations": [{"type": "gadgets", "object": {"id": "i", "name": "I", "order": "p"}}, {"type": "orders", "object": {"id": "p", "name": "P"}}]}`)
	process.Wants(t, string(f.Ask(http.StatusOK, http.MethodGet, "/api/v1/gadgets?context=main&orderBy=name&filterBy=name&filterByValue=G", "").Body),
		`"An order"`, `"totalCount":1`)
	process.Wants(t, string(f.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=gadgets&id=g", "").Body), `"/name"`)

	// A wrong file is refused whole: what came with it, too.
	for name, wrong := range map[string]struct{ content, says string }{
		"syntax":    {`{"title": `, "line 1"},
		"empty":     {``, "widgets.json"},
		"keyword":   {strings.Replace(process.Schema("widgets"), `"index"`, `"indices"`, 1), "indices"},
		"reference": {strings.Replace(process.Schema("widgets"), `"orders"`, `"nowhere"`, 1), "there is no type nowhere"},
		"taken":     {process.Schema("orders"), "the path orders is taken"},
		"outside":   {strings.Replace(process.Schema("widgets"), `"common/reference.json"`, `"file:///etc/passwd"`, 1), "widgets.json"},
		"property":  {process.Schema("widgets", `, "objectState": {"type": "string"}`), "objectState is implied"},
	} {
		entry := f.Drop("widgets.json", wrong.content, process.RefusedSet)
		reason := fmt.Sprint(entry["reason"])
		if !strings.Contains(reason, "widgets.json") || !strings.Contains(reason, wrong.says) || entry["level"] != "ERROR" {
			t.Errorf("%s: the log says %v", name, entry)
		}
		ready := f.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
		process.Wants(t, string(ready.Body), "the previous ones remain", `"status":"ready"`)
		process.Shuns(t, string(ready.Body), "widgets", "orders")
		f.Ask(http.StatusOK, http.MethodGet, "/api/v1/gadgets/g?context=main", "")
		f.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/widgets?context=main", "")
	}

	// Put right, it serves, and nothing is left of the trouble.
	f.Drop("widgets.json", process.Schema("widgets"), process.Loaded)
	process.Shuns(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "widgets", "notes")
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/widgets/w?context=main", `{"name": "W"}`)

	// A type changes, a shared definition comes, a file comes by renaming.
	f.Drop("gadgets.json", process.Schema("gadgets", `, "colour": {"enum": ["red", "green"]}`), process.Loaded)
	f.Ask(http.StatusOK, http.MethodPost, "/api/v1/gadgets/g?context=main&fieldValidation=Strict", `{"colour": "red"}`)
	f.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"colour": "blue"}`)
	f.Change(process.Loaded, func() error { return os.Mkdir(filepath.Join(dir, "common"), 0o755) })
	f.Drop("common/size.json", process.Common(1), process.Loaded)
	f.Drop("gadgets.json", process.Schema("gadgets", `, "size": {"$ref": "common/size.json"}`), process.Loaded)
	f.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"size": 0}`)
	f.Drop("common/size.json", process.Common(0), process.Loaded)
	f.Ask(http.StatusOK, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"size": 0}`)
	f.Change(process.Loaded, func() error {
		return os.Rename(process.File(t, filepath.Join(t.TempDir(), "x"), process.Schema("gizmos")), filepath.Join(dir, "gizmos.json"))
	})
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/gizmos/z?context=main", `{"name": "Z"}`)

	// A type that is taken away is no longer served; back, it has its objects.
	f.Change(process.Loaded, func() error { return os.Remove(filepath.Join(dir, "widgets.json")) })
	f.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/widgets/w?context=main", "")
	f.Drop("widgets.json", process.Schema("widgets"), process.Loaded)
	f.Ask(http.StatusOK, http.MethodGet, "/api/v1/widgets/w?context=main", "")

	if n := requests(); n == 0 {
		t.Error("no request ran beside the reloads")
	}
	f.Stop()

	q := process.Serve(t, store, "--schemas", dir)
	q.Token = f.Token
	for _, path := range []string{"gadgets/g", "gadgets/i", "widgets/w", "gizmos/z"} {
		q.Ask(http.StatusOK, http.MethodGet, "/api/v1/"+path+"?context=main", "")
	}
	q.Stop()
	process.File(t, filepath.Join(dir, "gizmos.json"), "{")
	out := process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", store, "--strict-schemas", "--schemas", dir)
	process.Wants(t, out, "gizmos.json")
	process.Shuns(t, out, "goroutine", "listening")
}

// TestLintHints shows what could be said better, which is no mistake.
func TestLintHints(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "stays.json")
	const stays = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "x-resource": {"path": "stays"},
"required": ["begin", "end"], "properties": {"begin": {"type": "integer"}, "end": {"type": "integer"}},
"x-validations": [{"rule": "self.begin < self.end", "code": "error.stay.end", "text": "T."}]}`
	process.File(t, file, stays)
	process.Wants(t, process.Run(t, nil, "schema", "lint", dir), `hint: `+file+`#/x-validations/0/rule: x-compare says the same ("x-compare": [{"left": "begin", "op": "<", "right": "end"}]), line 3`, "1 schema, no mistakes", "digest: ")
	process.Wants(t, process.Run(t, nil, "schema", "lint", "--json", dir), `{"level":"hint","file":"`+file+`","pointer":"/x-validations/0/rule","line":3,"text":"x-compare says the same","cure":`)
	process.File(t, file, strings.Replace(stays, "self.end", "self.until", 1))
	process.Wants(t, process.Fails(t, nil, "schema", "lint", "--json", dir), `{"level":"error","file":"`+file+`","pointer":"/x-validations/0/rule","line":3,"column":46,"text":"there is no property until here"`, "1 mistake")
}

// TestLint explains the mistakes of a folder, each with file, place and cure.
func TestLint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	process.File(t, filepath.Join(dir, "gadgets.json"), process.Schema("gadgets"))
	process.Wants(t, process.Run(t, nil, "schema", "lint", dir), "1 schema, no mistakes")

	process.File(t, filepath.Join(dir, "broken.json"), "{")
	out := process.Fails(t, nil, "schema", "lint", dir)
	process.Wants(t, out, dir+"/broken.json", "line 1", "marquee: 1 mistake\n")
	if err := os.Remove(filepath.Join(dir, "broken.json")); err != nil {
		t.Fatal(err)
	}
	process.File(t, filepath.Join(dir, "gizmos.json"), strings.Replace(process.Schema("gizmos"), `"orders"`, `"nowhere"`, 1))
	process.File(t, filepath.Join(dir, "widgets.json"), strings.Replace(process.Schema("widgets"), `["name"], "sort"`, `["colour"], "sort"`, 1))
	out = process.Fails(t, nil, "schema", "lint", dir)
	process.Wants(t, out,
		dir+"/gizmos.json#/properties/order/x-ref: there is no type nowhere (name the path of a type), line 3\n",
		dir+"/widgets.json#/x-resource/index/0: there is no property colour (name a property of the schema, by a dotted path), line 2\n",
		"marquee: 2 mistakes\n")
	process.Shuns(t, out, "gadgets.json")
	process.Wants(t, process.Fails(t, nil, "schema", "lint", filepath.Join(dir, "none")), "none")

	// All checks at once, and paths as they were given.
	process.File(t, filepath.Join(dir, "broken.json"), "{")
	for _, given := range []string{"./my schemas", "my schemas/", "my schemas", "../" + filepath.Base(dir) + "/my schemas"} {
		cmd := process.Command(t, nil, "schema", "lint", given)
		cmd.Dir = t.TempDir()
		if strings.HasPrefix(given, "..") {
			cmd.Dir = filepath.Join(filepath.Dir(cmd.Dir), filepath.Base(dir))
		}
		if err := os.Symlink(dir, filepath.Join(cmd.Dir, "my schemas")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		given = strings.TrimSuffix(given, "/")
		process.Wants(t, "\n"+process.Refused(t, cmd), "\n"+given+"/broken.json: ", "\n"+given+"/gizmos.json#/properties/order", "\n"+given+"/widgets.json#/x-resource/index/0", "marquee: 3 mistakes\n")
	}

	empty := t.TempDir()
	process.File(t, filepath.Join(empty, "notes.txt"), "")
	process.Wants(t, process.Fails(t, nil, "schema", "lint", empty), empty+" holds no schema")
}
