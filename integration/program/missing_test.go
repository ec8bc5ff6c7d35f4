package program

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/integration/process"
	"marquee/integration/service"
)

// madeNothing checks that there is no store at a URI, and nothing of one.
func madeNothing(t *testing.T, uri string) {
	t.Helper()
	if strings.HasPrefix(uri, "sqlite:") {
		if _, err := os.Stat(filepath.Dir(service.SQLiteFile(uri))); !os.IsNotExist(err) {
			t.Errorf("there is a folder %s: %v", filepath.Dir(service.SQLiteFile(uri)), err)
		}
		return
	}
	db, err := service.ConnectDatabase(uri)
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
func TestNoStore(t *testing.T) {
	process.SkipLong(t)
	service.EachNoStore(t, testNoStore)
}

func testNoStore(t *testing.T, fresh service.NewStore) {
	uri, file := fresh(t), process.ImportFile(t, `{"type": "networks", "object": {"id": "north", "name": "North"}}`)
	for _, args := range [][]string{
		{"export", "--all-networks"},
		{"import", file},
		{"import", "networks", file},
		{"import", "locations", file},
		{"check"},
	} {
		cmd := process.Command(t, nil, append(args, "--store", uri)...)
		process.Wants(t, process.Refused(t, cmd), "marquee: there is no store at ", "--store", "marquee init")
		madeNothing(t, uri)
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
			t.Errorf("%v made %v %v", args, left, err)
		}
	}
	process.Gone(t, file)

	// The flag --create makes one.
	process.Wants(t, process.ImportRun(t, 0, uri, file, "--create"), "1 object: 1 new")
	process.Wants(t, process.ImportRun(t, 0, uri, file, "--create"), "1 object: 0 new")
	process.Wants(t, process.ExportRun(t, uri, "networks"), `"north"`)
}

// TestNoStoreInAnEmptyFile: an empty file is where a store can be made, and no
// store yet.
func TestNoStoreInAnEmptyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := process.File(t, filepath.Join(dir, "empty.db"), "")
	process.Wants(t, process.Fails(t, nil, "export", "--all-networks", "--store", "sqlite:"+path), "there is no store at sqlite:"+path)
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the export made %v %v", left, err)
	}
}

// TestTypesWithoutSchemas: a store with objects of types whose schemas were not
// given is neither served nor exported as if it had none.
func TestTypesWithoutSchemas(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testTypesWithoutSchemas)
}

func testTypesWithoutSchemas(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), t.TempDir()
	for _, name := range []string{"gadgets", "gizmos", "unused"} {
		process.File(t, filepath.Join(dir, name+".json"), process.Schema(name))
	}
	p := process.Serve(t, uri, "--schemas", dir)
	p.SignIn("admin", process.Password)
	for _, name := range []string{"gadgets", "gizmos"} {
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/"+name+"/x?context=main", `{"name": "X"}`)
	}
	p.Stop()

	says := []string{"gadgets and gizmos", "--schemas", "--known-types-only"}
	serve := process.Command(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", uri)
	exported := filepath.Join(t.TempDir(), "all.ndjson")
	export := process.Command(t, process.ImportEnv, "export", "--all-networks", "--store", uri, "--output", exported)
	for _, cmd := range []*exec.Cmd{serve, export} {
		out := process.Refused(t, cmd)
		process.Wants(t, out, says...)
		process.Shuns(t, out, "unused", "listening", "exported")
	}
	if _, err := os.Stat(exported); !os.IsNotExist(err) {
		t.Errorf("there is an export: %v", err)
	}

	process.Shuns(t, process.ExportRun(t, uri, "--all-networks", "--known-types-only"), "gadgets")
	process.ExportRun(t, uri, "networks") // which leaves out nothing that was asked for
	process.Wants(t, process.ExportRun(t, uri, "--all-networks", "--schemas", dir), `"gadgets"`, `"gizmos"`)
	q := process.Serve(t, uri, "--known-types-only")
	q.SignIn("admin", process.Password)
	q.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/gadgets/x?context=main", "")
	q.Stop()
	q = process.Serve(t, uri, "--schemas", dir)
	q.SignIn("admin", process.Password)
	q.Ask(http.StatusOK, http.MethodGet, "/api/v1/gadgets/x?context=main", "")
	q.Stop()
}

// TestPortFirst: a server that cannot listen makes no store, and no password
// that nobody could use.
func TestPortFirst(t *testing.T) { service.EachNoStore(t, testPortFirst) }

func testPortFirst(t *testing.T, fresh service.NewStore) {
	uri := fresh(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out := process.Fails(t, nil, "serve", "--demo", "--addr", taken.Addr().String(), "--store", uri)
	process.Wants(t, out, "cannot listen at "+taken.Addr().String())
	process.Shuns(t, out, "password")
	madeNothing(t, uri)

	// The same of settings that cannot be used.
	out = process.Fails(t, nil, "serve", "--addr", "127.0.0.1:0", "--store", uri, "--embeddings-model", "m")
	process.Wants(t, out, "--embeddings-url")
	process.Shuns(t, out, "password")
	madeNothing(t, uri)
}

// TestReloadWithoutSchemas: a reload that leaves out types which the store has
// objects of says so, in the log and in /readyz, until they are back.
func TestReloadWithoutSchemas(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"": nil, "KnownTypesOnly": {"--known-types-only"}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			process.File(t, filepath.Join(dir, "unused.json"), process.Schema("unused"))
			gadgets := process.File(t, filepath.Join(dir, "gadgets.json"), process.Schema("gadgets"))
			process.File(t, filepath.Join(dir, "kept.json"), process.Schema("kept"))
			f := process.Folder{Process: process.Serve(t, service.NewSQLite(t), append(flags, "--schemas", dir)...), Dir: dir}
			f.SignIn("admin", process.Password)
			f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/gadgets/x?context=main", `{"name": "X"}`)
			f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/kept/x?context=main", `{"name": "X"}`)
			f.Change(process.Loaded, func() error { return os.Remove(filepath.Join(dir, "unused.json")) })
			process.Shuns(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "notes")
			remove := func() error { return os.Remove(gadgets) }
			if flags != nil {
				// The same set concerns an object of another type, so that the note shows when
				// the stored objects have been counted.
				kept := strings.Replace(process.Schema("kept"), `"name": {"type": "string"`, `"name": {"minLength": 2, "type": "string"`, 1)
				f.Change(process.Loaded, func() error {
					return errors.Join(remove(), os.WriteFile(filepath.Join(dir, "kept.json"), []byte(kept), 0o644))
				})
				f.Eventually("/readyz does not have the count", func() bool {
					return strings.Contains(f.AwaitReady(http.StatusOK), "hide values of: kept 1; the log")
				})
				process.Shuns(t, f.AwaitReady(http.StatusOK), `"schemas":"served`)
				return
			}
			f.Awaits("the new set of schemas leaves out types that the store has objects of", remove)
			ready := string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body)
			process.Wants(t, ready, `"status":"ready"`, "a start with these would be refused")
			process.Shuns(t, ready, "gadgets")
			f.Ask(http.StatusNotFound, http.MethodGet, "/api/v1/gadgets/x?context=main", "")
			f.Drop("gadgets.json", process.Schema("gadgets"), process.Loaded)
			process.Shuns(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "notes")
		})
	}
}
