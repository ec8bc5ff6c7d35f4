package integration

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// TestStartWithRefusedSchemas: a schema file that a running service would refuse
// does not stop it at its next start: the set that was accepted last is served.
func TestStartWithRefusedSchemas(t *testing.T) { eachStore(t, testStartWithRefusedSchemas) }

func testStartWithRefusedSchemas(t *testing.T, fresh newStore) {
	uri, dir := fresh(t), filepath.Join(t.TempDir(), "schemas")
	procFolderOf(t, dir, "a")
	broken := filepath.Join(dir, "typeb.json")
	procFile(t, broken, `{"type": 7}`)
	refused := func(args ...string) {
		t.Helper()
		args = append([]string{"serve", "--addr", "127.0.0.1:0", "--store", uri, "--schemas", dir}, args...)
		out := procFails(t, nil, args...)
		procWants(t, out, broken)
		procShuns(t, out, "listening", "The password is")
	}
	refused() // nothing was accepted yet
	madeNothing(t, uri)

	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	f := procFolder{procServe(t, uri, "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/typea/x?context=main", `{"name": "X"}`)
	f.drop("typec.json", procSchema("typec"), procLoaded) // a reload is an acceptance, too
	f.ask(http.StatusCreated, http.MethodPost, "/api/v1/typec/x?context=main", `{"name": "X"}`)
	f.drop("typeb.json", `{"type": 7}`, procRefusedSet)
	token := f.token
	f.stop()

	refused("--strict-schemas")
	next := procFolder{procServe(t, uri, "--schemas", dir), dir}
	next.token = token
	if line := procEntry(next.stderr.await(t, 0, procSays("the schemas were refused; the set that was accepted last is served"))); line["level"] != "WARN" {
		t.Errorf("the log says %v", line)
	}
	next.serves("ac")
	next.ask(http.StatusOK, http.MethodGet, "/api/v1/typec/x?context=main", "")
	said := next.awaitReady(http.StatusOK)
	procWants(t, said, "refused at the start", "schemas/typeb.json")
	procShuns(t, said, filepath.Dir(dir))
	next.drop("typeb.json", procSchema("typeb"), procLoaded)
	next.serves("abc")
	procShuns(t, next.awaitReady(http.StatusOK), "notes")
	next.stop()

	// A set that stored objects do not suit is refused at the start as well.
	p := procServe(t, uri, "--schemas", dir)
	p.token = token
	for _, id := range []string{"x", "y"} {
		p.ask(http.StatusCreated, http.MethodPost, "/api/v1/typeb/"+id+"?context=main", `{"name": "the same"}`)
	}
	p.stop()
	procFile(t, broken, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Test",
"x-resource": {"path": "typeb", "unique": ["name"]}, "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`)
	refused("--strict-schemas")
	last := procFolder{procServe(t, uri, "--schemas", dir), dir}
	last.token = token
	last.serves("abc")
	procWants(t, last.awaitReady(http.StatusOK), "refused at the start")
	last.stop()
}

// TestUnreadFolders: of folders within the folder of schemas, the log says that
// they are not read.
func TestUnreadFolders(t *testing.T) {
	t.Parallel()
	dir := procFolderOf(t, t.TempDir(), "a")
	procFolderOf(t, filepath.Join(dir, "more"), "b")
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := procServe(t, newSQLite(t), "--schemas", dir)
	p.stop()
	procWants(t, p.stderr.String(), `"folder":"`+filepath.Join(dir, "more")+`"`)
	procShuns(t, p.stderr.String(), filepath.Join(dir, "notes"))
	procWants(t, procRun(t, nil, "schema", "lint", dir), "the folder "+filepath.Join(dir, "more")+" is not read")
}
