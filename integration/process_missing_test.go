package integration

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// madeNothing checks that there is no store at a URI, and nothing of one.
func madeNothing(t *testing.T, uri string) {
	t.Helper()
	if strings.HasPrefix(uri, "sqlite:") {
		if _, err := os.Stat(filepath.Dir(sqliteFile(uri))); !os.IsNotExist(err) {
			t.Errorf("there is a folder %s: %v", filepath.Dir(sqliteFile(uri)), err)
		}
		return
	}
	db, err := connectDatabase(uri)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Client().Disconnect(context.Background())
	names, err := db.ListCollectionNames(context.Background(), bson.D{})
	if err != nil || len(names) > 0 {
		t.Errorf("there are the collections %v: %v", names, err)
	}
}

// TestNoStore: commands that work on the objects of a store do not make one.
func TestNoStore(t *testing.T) { eachStore(t, testNoStore) }

func testNoStore(t *testing.T, fresh newStore) {
	uri, file := fresh(t), importFile(t, `{"type": "networks", "object": {"id": "north", "name": "North"}}`)
	for _, args := range [][]string{
		{"export", "--all-networks"},
		{"import", file},
		{"import", "networks", file},
		{"import", "locations", file},
		{"check"},
	} {
		cmd := procCommand(t, nil, append(args, "--store", uri)...)
		procWants(t, procRefused(t, cmd), "marquee: there is no store at ", "--store", "marquee init")
		madeNothing(t, uri)
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
			t.Errorf("%v made %v %v", args, left, err)
		}
	}
	gone(t, file)

	// The flag --create makes one.
	procWants(t, importRun(t, 0, uri, file, "--create"), "1 object: 1 new")
	procWants(t, importRun(t, 0, uri, file, "--create"), "1 object: 0 new")
	procWants(t, exportRun(t, uri, "networks"), `"north"`)
}

// TestNoStoreInAnEmptyFile: an empty file is where a store can be made, and no
// store yet.
func TestNoStoreInAnEmptyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := procFile(t, filepath.Join(dir, "empty.db"), "")
	procWants(t, procFails(t, nil, "export", "--all-networks", "--store", "sqlite:"+path), "there is no store at sqlite:"+path)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the export made %v %v", left, err)
	}
}

// TestTypesWithoutSchemas: a store with objects of types whose schemas were not
// given is neither served nor exported as if it had none.
func TestTypesWithoutSchemas(t *testing.T) { eachStore(t, testTypesWithoutSchemas) }

func testTypesWithoutSchemas(t *testing.T, fresh newStore) {
	uri, dir := fresh(t), t.TempDir()
	for _, name := range []string{"gadgets", "gizmos", "unused"} {
		procFile(t, filepath.Join(dir, name+".json"), procSchema(name))
	}
	p := procServe(t, uri, "--schemas", dir)
	p.signIn("admin", procPassword)
	for _, name := range []string{"gadgets", "gizmos"} {
		p.ask(http.StatusCreated, http.MethodPost, "/api/v1/"+name+"/x?context=main", `{"name": "X"}`)
	}
	p.stop()

	says := []string{"gadgets and gizmos", "--schemas", "--known-types-only"}
	serve := procCommand(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", uri)
	exported := filepath.Join(t.TempDir(), "all.ndjson")
	export := procCommand(t, importEnv, "export", "--all-networks", "--store", uri, "--output", exported)
	for _, cmd := range []*exec.Cmd{serve, export} {
		out := procRefused(t, cmd)
		procWants(t, out, says...)
		procShuns(t, out, "unused", "listening", "exported")
	}
	if _, err := os.Stat(exported); !os.IsNotExist(err) {
		t.Errorf("there is an export: %v", err)
	}

	procShuns(t, exportRun(t, uri, "--all-networks", "--known-types-only"), "gadgets")
	exportRun(t, uri, "networks") // which leaves out nothing that was asked for
	procWants(t, exportRun(t, uri, "--all-networks", "--schemas", dir), `"gadgets"`, `"gizmos"`)
	q := procServe(t, uri, "--known-types-only")
	q.signIn("admin", procPassword)
	q.ask(http.StatusNotFound, http.MethodGet, "/api/v1/gadgets/x?context=main", "")
	q.stop()
	q = procServe(t, uri, "--schemas", dir)
	q.signIn("admin", procPassword)
	q.ask(http.StatusOK, http.MethodGet, "/api/v1/gadgets/x?context=main", "")
	q.stop()
}

// TestPortFirst: a server that cannot listen makes no store, and no password
// that nobody could use.
func TestPortFirst(t *testing.T) { eachStore(t, testPortFirst) }

func testPortFirst(t *testing.T, fresh newStore) {
	uri := fresh(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out := procFails(t, nil, "serve", "--demo", "--addr", taken.Addr().String(), "--store", uri)
	procWants(t, out, "cannot listen at "+taken.Addr().String())
	procShuns(t, out, "password")
	madeNothing(t, uri)

	// The same of settings that cannot be used.
	out = procFails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", uri, "--embeddings-model", "m")
	procWants(t, out, "--embeddings-url")
	procShuns(t, out, "password")
	madeNothing(t, uri)
}

// TestReloadWithoutSchemas: a reload that leaves out types which the store has
// objects of says so, in the log and in /readyz, until they are back.
func TestReloadWithoutSchemas(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"": nil, "KnownTypesOnly": {"--known-types-only"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			procFile(t, filepath.Join(dir, "unused.json"), procSchema("unused"))
			gadgets := procFile(t, filepath.Join(dir, "gadgets.json"), procSchema("gadgets"))
			f := procFolder{procServe(t, newSQLite(t), append(flags, "--schemas", dir)...), dir}
			f.signIn("admin", procPassword)
			f.ask(http.StatusCreated, http.MethodPost, "/api/v1/gadgets/x?context=main", `{"name": "X"}`)
			f.change(procLoaded, func() error { return os.Remove(filepath.Join(dir, "unused.json")) })
			procShuns(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "notes")
			remove := func() error { return os.Remove(gadgets) }
			if flags != nil {
				f.change(procLoaded, remove)
				procShuns(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "notes")
				return
			}
			f.awaits("the new set of schemas leaves out types that the store has objects of", remove)
			procWants(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), `"status":"ready"`, "objects of gadgets", "--known-types-only")
			f.ask(http.StatusNotFound, http.MethodGet, "/api/v1/gadgets/x?context=main", "")
			f.drop("gadgets.json", procSchema("gadgets"), procLoaded)
			procShuns(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "notes")
		})
	}
}
