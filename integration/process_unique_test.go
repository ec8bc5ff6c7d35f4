package integration

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// procUnique is a type whose names are unique.
func procUnique(path string) string {
	return strings.Replace(procSchema(path), `"index": ["name"]`, `"unique": ["name"]`, 1)
}

// schemas returns the digest of the set that a server serves, which /readyz and each
// response of the API have.
func (p *proc) schemas() string {
	p.tb.Helper()
	a := p.ask(http.StatusOK, http.MethodGet, "/readyz", "")
	answer, _ := a.json().(map[string]any)
	digest, _ := answer["schemas"].(string)
	if len(digest) != 32 || a.header.Get("Marquee-Schemas") != digest {
		p.tb.Fatalf("/readyz has the digest %q, and in the header %q", digest, a.header.Get("Marquee-Schemas"))
	}
	return digest
}

// TestUniqueIsTriedAgain: a set that duplicates refuse is served without another change
// of the folder once they are gone, also if it was refused at the start. The log names the
// objects, once, and /readyz does not.
func TestUniqueIsTriedAgain(t *testing.T) { eachStore(t, testUniqueIsTriedAgain) }

func testUniqueIsTriedAgain(t *testing.T, fresh newStore) {
	uri, dir := fresh(t), t.TempDir()
	procFile(t, filepath.Join(dir, "gadgets.json"), procSchema("gadgets"))
	f := procFolder{procServe(t, uri, "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	post := func(id, name string) {
		f.ask(http.StatusOK, http.MethodPost, "/api/v1/gadgets?context=main", fmt.Sprintf(`{"id": %q, "name": %q}`, id, name))
	}
	post("first-gadget", "G")
	post("second-gadget", "G")
	before := f.schemas()
	reason := fmt.Sprint(f.drop("gadgets.json", procUnique("gadgets"), procRefusedSet)["reason"])
	procWants(t, reason, `name cannot be unique: stored objects have the same value: "first-gadget" and "second-gadget" (network "main")`)
	ready := string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body)
	procWants(t, ready, "the previous ones remain", "name cannot be unique")
	procShuns(t, ready, "first-gadget", `"main"`, `\"main\"`)
	if f.schemas() != before {
		t.Error("the digest of a set that is refused is shown")
	}
	from := f.stderr.mark()
	post("second-gadget", "H")
	f.stderr.await(t, from, procSays(procLoaded))
	if f.schemas() == before {
		t.Error("the digest has not changed")
	}
	f.ask(http.StatusUnprocessableEntity, http.MethodPost, "/api/v1/gadgets?context=main", `{"id": "third", "name": "G"}`)
	if n := strings.Count(f.stderr.String(), procRefusedSet); n != 1 {
		t.Errorf("the log says %d times that the set is refused", n)
	}

	// The same at a start.
	f.drop("gadgets.json", procSchema("gadgets"), procLoaded)
	post("third", "G")
	token := f.token
	f.stop()
	procFile(t, filepath.Join(dir, "gadgets.json"), procUnique("gadgets"))
	f = procFolder{procServe(t, uri, "--schemas", dir), dir}
	f.token = token
	ready = string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body)
	procWants(t, ready, "refused", "name cannot be unique")
	procShuns(t, ready, "first-gadget")
	from = f.stderr.mark()
	post("third", "I")
	f.stderr.await(t, from, procSays(procLoaded))
	procShuns(t, string(f.ask(http.StatusOK, http.MethodGet, "/readyz", "").body), "notes")
	f.stop()
}

// TestSchemasDigest: servers with the same files and the same application show the same
// digest, wherever the files are, and any difference changes it.
func TestSchemasDigest(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere", "types")
	for _, dir := range []string{one, two} {
		if err := os.MkdirAll(filepath.Join(dir, "common"), 0o755); err != nil {
			t.Fatal(err)
		}
		procFile(t, filepath.Join(dir, "gadgets.json"), procSchema("gadgets"))
		procFile(t, filepath.Join(dir, "common", "size.json"), procCommon(1))
	}
	f, g := procFolder{procServe(t, newSQLite(t), "--schemas", one), one}, procServe(t, newSQLite(t), "--schemas", two)
	digest := f.schemas()
	if other := g.schemas(); other != digest {
		t.Errorf("two servers with the same files show %s and %s", digest, other)
	}
	procWants(t, procRun(t, nil, "schema", "lint", two), "digest: "+digest)
	seen := map[string]bool{digest: true}
	for name, content := range map[string]string{"gadgets.json": procSchema("gadgets", `, "colour": {"type": "string"}`), "common/size.json": procCommon(2), "widgets.json": procSchema("widgets")} {
		f.drop(name, content, procLoaded)
		changed := f.schemas()
		if seen[changed] {
			t.Errorf("%s changes nothing", name)
		}
		seen[changed] = true
		for path, has := range map[string]bool{"/api/v1/gadgets?context=main": true, "/api/openapi.json": true, "/api/nowhere": true, "/docs": false, "/healthz": false} {
			a, err := f.send(http.MethodGet, path, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.header.Get("Marquee-Schemas"); got != changed && has || got != "" && !has {
				t.Errorf("%s has the digest %q", path, got)
			}
		}
	}
	g.stop()
	f.stop()
	plain := t.TempDir()
	procFile(t, filepath.Join(plain, "gadgets.json"), `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Test",
"x-resource": {"path": "gadgets"}, "type": "object", "properties": {"name": {"type": "string"}}}`)
	if ours, others := procRun(t, nil, "schema", "lint", plain), procRun(t, nil, "schema", "lint", plain, "--application", "none"); ours == others {
		t.Errorf("another application has the same digest: %s", ours)
	}
}
