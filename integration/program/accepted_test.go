package program

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestStartWithRefusedSchemas: a schema file that a running service would refuse
// does not stop it at its next start: the set that was accepted last is served.
func TestStartWithRefusedSchemas(t *testing.T) {
	process.SkipLong(t)
	service.EachNoStore(t, testStartWithRefusedSchemas)
}

func testStartWithRefusedSchemas(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), filepath.Join(t.TempDir(), "schemas")
	process.FolderOf(t, dir, "a")
	broken := filepath.Join(dir, "typeb.json")
	process.File(t, broken, `{"type": 7}`)
	refused := func(args ...string) {
		t.Helper()
		args = append([]string{"serve", "--addr", "127.0.0.1:0", "--store", uri, "--schemas", dir}, args...)
		out := process.Fails(t, nil, args...)
		process.Wants(t, out, broken)
		process.Shuns(t, out, "listening", "The password is")
	}
	refused() // nothing was accepted yet
	madeNothing(t, uri)

	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	f := process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/typea/x?context=main", `{"name": "X"}`)
	f.Drop("typec.json", process.Schema("typec"), process.Loaded) // a reload is an acceptance, too
	f.Ask(http.StatusCreated, http.MethodPost, "/api/v1/typec/x?context=main", `{"name": "X"}`)
	f.Drop("typeb.json", `{"type": 7}`, process.RefusedSet)
	token := f.Token
	f.Stop()

	refused("--strict-schemas")
	again, private := privately(t, uri, "--schemas", dir)
	next := process.Folder{Process: again, Dir: dir}
	next.Token = token
	if line := service.Entry(next.Stderr.Await(t, 0, service.Says("the schemas were refused; the set that was accepted last is served"))); line["level"] != "WARN" {
		t.Errorf("the log says %v", line)
	}
	next.Serves("ac")
	next.Ask(http.StatusOK, http.MethodGet, "/api/v1/typec/x?context=main", "")
	said := next.AwaitReady(http.StatusOK)
	process.Wants(t, said, "refused since the start")
	process.Shuns(t, said, filepath.Dir(dir), "typeb")
	handbook(t, "Refused schemas").shows(again, private)
	next.Drop("typeb.json", process.Schema("typeb"), process.Loaded)
	next.Serves("abc")
	process.Shuns(t, next.AwaitReady(http.StatusOK), "notes")
	next.Stop()

	// A set that stored objects do not suit is refused at the start as well.
	p := process.Serve(t, uri, "--schemas", dir)
	p.Token = token
	for _, id := range []string{"x", "y"} {
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/typeb/"+id+"?context=main", `{"name": "the same"}`)
	}
	p.Stop()
	process.File(t, broken, `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Test",
"x-resource": {"path": "typeb", "unique": ["name"]}, "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`)
	refused("--strict-schemas")
	last := process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	last.Token = token
	last.Serves("abc")
	process.Wants(t, last.AwaitReady(http.StatusOK), "refused since the start")
	last.Stop()
}

// TestUnreadFolders: of folders within the folder of schemas, the log says that
// they are not read.
func TestUnreadFolders(t *testing.T) {
	t.Parallel()
	dir := process.FolderOf(t, t.TempDir(), "a")
	process.FolderOf(t, filepath.Join(dir, "more"), "b")
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := process.Serve(t, service.NewSQLite(t), "--schemas", dir)
	p.Stop()
	process.Wants(t, p.Stderr.String(), `"folder":"`+filepath.Join(dir, "more")+`"`)
	process.Shuns(t, p.Stderr.String(), filepath.Join(dir, "notes"))
	process.Wants(t, process.Run(t, nil, "schema", "lint", dir), "the folder "+filepath.Join(dir, "more")+" is not read")
}
