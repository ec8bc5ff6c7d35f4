package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// procSchema is a type of the tests: a path, and one required text.
func procSchema(path string, more ...string) string {
	return fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Test",
"x-resource": {"path": %q, "index": ["name"], "sort": ["name"]}, "type": "object", "required": ["name"],
"properties": {"name": {"type": "string"}, "order": {"$ref": "common/reference.json", "x-ref": "orders"}%s}}`, path, strings.Join(more, ""))
}

// procCommon is a shared definition: a number with a minimum.
func procCommon(minimum int) string {
	return fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "integer", "minimum": %d}`, minimum)
}

// procFolder is a running service that watches a folder of schemas.
type procFolder struct {
	*proc
	dir string
}

// drop puts a file into the folder, as an editor does or in one step, and
// waits for what the log says about the new set.
func (f procFolder) drop(name, content, says string) map[string]any {
	f.tb.Helper()
	return f.change(says, func() error { return os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o644) })
}

func (f procFolder) change(says string, do func() error) map[string]any {
	f.tb.Helper()
	from := f.stderr.mark()
	if err := do(); err != nil {
		f.tb.Fatal(err)
	}
	line := f.stderr.await(f.tb, from, func(line string) bool { return procSays(procLoaded)(line) || procSays(procRefusedSet)(line) })
	if !procSays(says)(line) {
		f.tb.Fatalf("instead of %q, the log says %s", says, line)
	}
	return procEntry(line)
}

const (
	procLoaded     = "schemas loaded"
	procRefusedSet = "the schemas were refused; the previous ones remain"
)

// TestReload goes through the life of a folder of schemas while requests run.
func TestReload(t *testing.T) { eachStore(t, testReload) }

func testReload(t *testing.T, fresh newStore) {
	store, dir := fresh(t), t.TempDir()
	f := procFolder{procServe(t, store, "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	f.ask(http.StatusNotFound, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"name": "G"}`)
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/orders/o?context=main", `{"name": "An order"}`)
	requests := procTraffic(f.proc)

	// A new type: all routes, validation, references, history, batch.
	f.drop("gadgets.json", procSchema("gadgets"), procLoaded)
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"name": "G", "order": "o"}`)
	f.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/h?context=main", `{"order": "o"}`)
	f.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/h?context=main", `{"name": "H", "order": "missing"}`)
	f.ask(http.StatusOK, http.MethodPost, "/api/v1/batch?context=main",
		`{"operations": [{"type": "gadgets", "object": {"id": "i", "name": "I", "order": "p"}}, {"type": "orders", "object": {"id": "p", "name": "P"}}]}`)
	procWants(t, string(f.ask(http.StatusOK, http.MethodGet, "/api/v1/gadgets?context=main&orderBy=name&filterBy=name&filterByValue=G", "").body),
		`"An order"`, `"totalCount":1`)
	procWants(t, string(f.ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=gadgets&id=g", "").body), `"/name"`)

	// A wrong file is refused whole: what came with it, too.
	for name, wrong := range map[string]struct{ content, says string }{
		"syntax":    {`{"title": `, "line 1"},
		"empty":     {``, "widgets.json"},
		"keyword":   {strings.Replace(procSchema("widgets"), `"index"`, `"indices"`, 1), "indices"},
		"reference": {strings.Replace(procSchema("widgets"), `"orders"`, `"nowhere"`, 1), "there is no type nowhere"},
		"taken":     {procSchema("orders"), "the path orders is taken"},
		"outside":   {strings.Replace(procSchema("widgets"), `"common/reference.json"`, `"file:///etc/passwd"`, 1), "widgets.json"},
		"property":  {procSchema("widgets", `, "objectState": {"type": "string"}`), "objectState is implied"},
	} {
		entry := f.drop("widgets.json", wrong.content, procRefusedSet)
		reason := fmt.Sprint(entry["reason"])
		if !strings.Contains(reason, "widgets.json") || !strings.Contains(reason, wrong.says) || entry["level"] != "ERROR" {
			t.Errorf("%s: the log says %v", name, entry)
		}
		ready := f.ask(http.StatusOK, http.MethodGet, "/readyz", "")
		procWants(t, string(ready.body), "widgets.json", "the previous ones remain", `"status":"ready"`)
		f.ask(http.StatusOK, http.MethodGet, "/api/v1/gadgets/g?context=main", "")
		f.ask(http.StatusNotFound, http.MethodGet, "/api/v1/widgets?context=main", "")
	}

	// Put right, it serves, and nothing is left of the trouble.
	f.drop("widgets.json", procSchema("widgets"), procLoaded)
	procShuns(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "widgets", "notes")
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/widgets/w?context=main", `{"name": "W"}`)

	// A type changes, a shared definition comes, a file comes by renaming.
	f.drop("gadgets.json", procSchema("gadgets", `, "colour": {"enum": ["red", "green"]}`), procLoaded)
	f.ask(http.StatusOK, http.MethodPost, "/api/v1/gadgets/g?context=main&fieldValidation=Strict", `{"colour": "red"}`)
	f.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"colour": "blue"}`)
	f.change(procLoaded, func() error { return os.Mkdir(filepath.Join(dir, "common"), 0o755) })
	f.drop("common/size.json", procCommon(1), procLoaded)
	f.drop("gadgets.json", procSchema("gadgets", `, "size": {"$ref": "common/size.json"}`), procLoaded)
	f.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"size": 0}`)
	f.drop("common/size.json", procCommon(0), procLoaded)
	f.ask(http.StatusOK, http.MethodPost, "/api/v1/gadgets/g?context=main", `{"size": 0}`)
	f.change(procLoaded, func() error {
		return os.Rename(procFile(t, filepath.Join(t.TempDir(), "x"), procSchema("gizmos")), filepath.Join(dir, "gizmos.json"))
	})
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/gizmos/z?context=main", `{"name": "Z"}`)

	// A type that is taken away is no longer served; back, it has its objects.
	f.change(procLoaded, func() error { return os.Remove(filepath.Join(dir, "widgets.json")) })
	f.ask(http.StatusNotFound, http.MethodGet, "/api/v1/widgets/w?context=main", "")
	f.drop("widgets.json", procSchema("widgets"), procLoaded)
	f.ask(http.StatusOK, http.MethodGet, "/api/v1/widgets/w?context=main", "")

	if n := requests(); n == 0 {
		t.Error("no request ran beside the reloads")
	}
	f.stop()

	q := procServe(t, store, "--schemas", dir)
	q.token = f.token
	for _, path := range []string{"gadgets/g", "gadgets/i", "widgets/w", "gizmos/z"} {
		q.ask(http.StatusOK, http.MethodGet, "/api/v1/"+path+"?context=main", "")
	}
	q.stop()
	procFile(t, filepath.Join(dir, "gizmos.json"), "{")
	out := procFails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", store, "--strict-schemas", "--schemas", dir)
	procWants(t, out, "gizmos.json")
	procShuns(t, out, "goroutine", "listening")
}

// procTraffic asks and writes without a pause, until the function that it
// returns is called, which returns the number of requests. Each must
// succeed.
func procTraffic(p *proc) (end func() int64) {
	var done atomic.Bool
	var n atomic.Int64
	var clients sync.WaitGroup
	request := func(method, path, body string) {
		a, err := p.send(method, path, nil, []byte(body))
		if err != nil || a.status >= 300 {
			p.tb.Errorf("beside a reload, %s %s gives %v %v", method, path, err, a)
			done.Store(true)
		}
		n.Add(1)
	}
	for c := range 3 {
		clients.Go(func() {
			for i := 0; !done.Load(); i++ {
				id := fmt.Sprintf("c%d-%d", c, i)
				request(http.MethodPost, "/api/v1/orders/"+id+"?context=main", `{"name": "An order"}`)
				request(http.MethodPost, "/api/v1/batch?context=main", fmt.Sprintf(`{"operations": [{"type": "lineitems",
"object": {"id": %[1]q, "name": "L", "order": %[1]q}}, {"type": "notes", "object": {"id": %[1]q, "text": "N"}}]}`, id))
				request(http.MethodGet, "/api/v1/lineitems/"+id+"?context=main", "")
				request(http.MethodGet, "/api/v1/orders?context=main&pageSize=5", "")
				request(http.MethodGet, "/readyz", "")
			}
		})
	}
	return func() int64 {
		done.Store(true)
		clients.Wait()
		return n.Load()
	}
}

// TestLint explains the mistakes of a folder, each with file, place and cure.
func TestLint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	procFile(t, filepath.Join(dir, "gadgets.json"), procSchema("gadgets"))
	procWants(t, procRun(t, nil, "schema", "lint", dir), "1 schema, no mistakes")

	procFile(t, filepath.Join(dir, "broken.json"), "{")
	out := procFails(t, nil, "schema", "lint", dir)
	procWants(t, out, dir+"/broken.json", "line 1", "marquee: 1 mistake\n")
	if err := os.Remove(filepath.Join(dir, "broken.json")); err != nil {
		t.Fatal(err)
	}
	procFile(t, filepath.Join(dir, "gizmos.json"), strings.Replace(procSchema("gizmos"), `"orders"`, `"nowhere"`, 1))
	procFile(t, filepath.Join(dir, "widgets.json"), strings.Replace(procSchema("widgets"), `["name"], "sort"`, `["colour"], "sort"`, 1))
	out = procFails(t, nil, "schema", "lint", dir)
	procWants(t, out,
		dir+"/gizmos.json#/properties/order/x-ref: there is no type nowhere (name the path of a type), line 3\n",
		dir+"/widgets.json#/x-resource/index/0: there is no property colour (name a property of the schema, by a dotted path), line 2\n",
		"marquee: 2 mistakes\n")
	procShuns(t, out, "gadgets.json")
	procWants(t, procFails(t, nil, "schema", "lint", filepath.Join(dir, "none")), "none")

	// All checks at once, and paths as they were given.
	procFile(t, filepath.Join(dir, "broken.json"), "{")
	for _, given := range []string{"./my schemas", "my schemas/", "my schemas", "../" + filepath.Base(dir) + "/my schemas"} {
		cmd := procCommand(t, nil, "schema", "lint", given)
		cmd.Dir = t.TempDir()
		if strings.HasPrefix(given, "..") {
			cmd.Dir = filepath.Join(filepath.Dir(cmd.Dir), filepath.Base(dir))
		}
		if err := os.Symlink(dir, filepath.Join(cmd.Dir, "my schemas")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		given = strings.TrimSuffix(given, "/")
		procWants(t, "\n"+procRefused(t, cmd), "\n"+given+"/broken.json: ", "\n"+given+"/gizmos.json#/properties/order", "\n"+given+"/widgets.json#/x-resource/index/0", "marquee: 3 mistakes\n")
	}

	empty := t.TempDir()
	procFile(t, filepath.Join(empty, "notes.txt"), "")
	procWants(t, procFails(t, nil, "schema", "lint", empty), empty+" holds no schema")
}
