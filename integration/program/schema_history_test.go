package program

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSchemaHistory: the sets that were served have numbers, by which they can be compared
// and come back as files, whether or not the store is being served.
func TestSchemaHistory(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSchemaHistory)
}

func testSchemaHistory(t *testing.T, fresh service.NewStore) {
	uri, dir := fresh(t), process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	args := func(more ...string) []string {
		return append([]string{"schema", more[0], "--store", uri}, more[1:]...)
	}
	f := process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	process.Wants(t, f.AwaitReady(http.StatusOK), `"set":1,`)
	f.Drop("typea.json", process.Schema("typea", `, "fax": {"type": "string"}`), process.Loaded)
	f.Drop("typea.json", `{"type": 7}`, process.RefusedSet)
	process.Wants(t, f.AwaitReady(http.StatusOK), `"set":2,`)
	process.Wants(t, string(f.Ask(http.StatusOK, http.MethodGet, "/api/schemas", "").Body), `{"set":2,"digest":"`)
	examine := func() {
		t.Helper()
		process.Wants(t, process.Run(t, nil, args("diff", "store:2", "store:1")...), "the schemas of the store 2/typea.json#/properties/fax (old): property-removed")
		to := filepath.Join(t.TempDir(), "restored")
		process.Run(t, nil, args("export", "1", to)...)
		if text, err := os.ReadFile(filepath.Join(to, "typea.json")); string(text) != process.Schema("typea") || err != nil {
			t.Errorf("the file of set 1 is %s, %v", text, err)
		}
		process.Wants(t, process.Fails(t, nil, args("export", "2", to)...), "is not an empty folder")
		process.Wants(t, process.Fails(t, nil, args("export", "3", filepath.Join(to, "more"))...), "the store does not keep the files of set 3: marquee schema history lists the sets")
		process.Wants(t, process.Fails(t, nil, args("diff", "store:one", dir)...), "set one")
	}
	examine()
	process.Wants(t, process.Run(t, nil, args("history")...), "\n2 ", "SERVER")
	f.Stop()
	printed := process.Run(t, nil, args("history")...)
	process.Wants(t, printed, "\n1 ", "\n2 ")
	process.Shuns(t, printed, "SERVER ")
	examine()

	// At a start with a refused folder, the last set is served, which keeps its number.
	p := process.Serve(t, uri, "--schemas", dir)
	process.Wants(t, p.AwaitReady(http.StatusOK), `"set":2,`, "refused since the start")
	p.Stop()
}

// TestServersWithOtherSchemas: servers of a database with different folders know of each
// other, until one of them ends.
func TestServersWithOtherSchemas(t *testing.T) {
	t.Parallel()
	service.NeedStore(t, "mongodb")
	uri := service.Reusing(t)(t)
	serve := func(name string) *process.Process {
		t.Helper()
		dir := process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), name)
		return process.Serve(t, uri, "--known-types-only", "--schemas", dir, "--clock-interval", "100ms")
	}
	a := serve("a")
	process.Shuns(t, a.AwaitReady(http.StatusOK), "notes")
	b := serve("b")
	const differ = "the servers of the store have served different sets"
	process.Wants(t, b.AwaitReady(http.StatusOK), differ+" since 20", "set 1 on 1, set 2 on 1")
	line := service.Entry(a.Stderr.Await(t, 0, service.Says("the servers of the store serve different sets of schemas")))
	if said, _ := line["servers"].(string); !strings.Contains(said, " serves set 1") || !strings.Contains(said, " serves set 2") {
		t.Errorf("the log says %v", line)
	}
	process.Wants(t, a.AwaitReady(http.StatusOK), differ, `"set":1`)
	printed := process.Run(t, nil, "schema", "history", "--store", uri)
	process.Wants(t, printed, "\nThe servers have served different sets since 20")
	if n := strings.Count(printed, a.URL[strings.LastIndexByte(a.URL, ':'):]); n != 2 {
		t.Errorf("the first server is listed %d times:\n%s", n, printed)
	}
	process.Wants(t, process.Run(t, nil, "schema", "history", "--store", uri, "--json"), `{"sets":[{"number":1,"digest":"`, `"differ":"20`)
	b.Stop()
	a.Stderr.Await(t, 0, service.Says("all servers of the store serve the same schemas again"))
	process.Shuns(t, a.AwaitReady(http.StatusOK), "notes")
	a.Stop()
}
