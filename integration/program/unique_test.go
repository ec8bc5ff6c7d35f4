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

// procUnique is a type whose names are unique.
func procUnique(path string) string {
	return strings.Replace(process.Schema(path), `"index": ["name"]`, `"unique": ["name"]`, 1)
}

// schemas returns the digest of the set that a server serves, which /readyz and each
// response of the API have.
func schemas(p *process.Process) string {
	p.TB.Helper()
	a := p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
	answer, _ := a.JSON().(map[string]any)
	digest, _ := answer["schemas"].(string)
	if len(digest) != 32 || a.Header.Get("Marquee-Schemas") != digest {
		p.TB.Fatalf("/readyz has the digest %q, and in the header %q", digest, a.Header.Get("Marquee-Schemas"))
	}
	return digest
}

// TestUniqueIsTriedAgain: a set that duplicates refuse is served without another change
// of the folder once they are gone, also if it was refused at the start. The log names the
// objects, once, and /readyz does not.
func TestUniqueIsTriedAgain(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testUniqueIsTriedAgain)
}

func testUniqueIsTriedAgain(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), t.TempDir()
	process.File(t, filepath.Join(dir, "gadgets.json"), process.Schema("gadgets"))
	f := process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	post := func(id, name string) {
		f.Ask(http.StatusOK, http.MethodPost, "/api/v1/gadgets?context=main", fmt.Sprintf(`{"id": %q, "name": %q}`, id, name))
	}
	post("first-gadget", "G")
	post("second-gadget", "G")
	before := schemas(f.Process)
	reason := fmt.Sprint(f.Drop("gadgets.json", procUnique("gadgets"), process.RefusedSet)["reason"])
	process.Wants(t, reason, `name cannot be unique: stored objects have the same value: "first-gadget" and "second-gadget" (network "main")`)
	ready := string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body)
	process.Wants(t, ready, "refused since 20", "the previous ones remain")
	process.Shuns(t, ready, "gadget", "name cannot be unique", `"main"`, `\"main\"`)
	if schemas(f.Process) != before {
		t.Error("the digest of a set that is refused is shown")
	}
	from := f.Stderr.Mark()
	post("second-gadget", "H")
	f.Stderr.Await(t, from, service.Says(process.Loaded))
	if schemas(f.Process) == before {
		t.Error("the digest has not changed")
	}
	f.Ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets?context=main", `{"id": "third", "name": "G"}`)
	if n := strings.Count(f.Stderr.String(), process.RefusedSet); n != 1 {
		t.Errorf("the log says %d times that the set is refused", n)
	}

	// The same at a start.
	f.Drop("gadgets.json", process.Schema("gadgets"), process.Loaded)
	post("third", "G")
	token := f.Token
	f.Stop()
	process.File(t, filepath.Join(dir, "gadgets.json"), procUnique("gadgets"))
	f = process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	f.Token = token
	ready = string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body)
	process.Wants(t, ready, "refused since the start at 20")
	process.Shuns(t, ready, "gadget", "name cannot be unique")
	from = f.Stderr.Mark()
	post("third", "I")
	f.Stderr.Await(t, from, service.Says(process.Loaded))
	process.Shuns(t, string(f.Ask(http.StatusOK, http.MethodGet, "/readyz", "").Body), "notes")
	f.Stop()
}

// TestSchemasDigest: servers with the same files and the same application show the same
// digest, wherever the files are, and any difference changes it.
func TestSchemasDigest(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere", "types")
	for _, dir := range []string{one, two} {
		if err := os.MkdirAll(filepath.Join(dir, "common"), 0o755); err != nil {
			t.Fatal(err)
		}
		process.File(t, filepath.Join(dir, "gadgets.json"), process.Schema("gadgets"))
		process.File(t, filepath.Join(dir, "common", "size.json"), process.Common(1))
	}
	f, g := process.Folder{Process: process.Serve(t, service.NewSQLite(t), "--schemas", one), Dir: one}, process.Serve(t, service.NewSQLite(t), "--schemas", two)
	digest := schemas(f.Process)
	if other := schemas(g); other != digest {
		t.Errorf("two servers with the same files show %s and %s", digest, other)
	}
	process.Wants(t, process.Run(t, nil, "schema", "lint", two), "digest: "+digest)
	seen := map[string]bool{digest: true}
	for name, content := range map[string]string{"gadgets.json": process.Schema("gadgets", `, "colour": {"type": "string"}`), "common/size.json": process.Common(2), "widgets.json": process.Schema("widgets")} {
		f.Drop(name, content, process.Loaded)
		changed := schemas(f.Process)
		if seen[changed] {
			t.Errorf("%s changes nothing", name)
		}
		seen[changed] = true
		for path, has := range map[string]bool{"/api/v1/gadgets?context=main": true, "/api/openapi.json": true, "/api/nowhere": true, "/docs": false, "/healthz": false} {
			a, err := f.Send(http.MethodGet, path, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Header.Get("Marquee-Schemas"); got != changed && has || got != "" && !has {
				t.Errorf("%s has the digest %q", path, got)
			}
		}
	}
	g.Stop()
	f.Stop()
	plain := t.TempDir()
	process.File(t, filepath.Join(plain, "gadgets.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Test",
"x-resource": {"path": "gadgets"}, "type": "object", "properties": {"name": {"type": "string"}}}`)
	if ours, others := process.Run(t, nil, "schema", "lint", plain), process.Run(t, nil, "schema", "lint", plain, "--application", "none"); ours == others {
		t.Errorf("another application has the same digest: %s", ours)
	}
}
