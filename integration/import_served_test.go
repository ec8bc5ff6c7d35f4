package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// servedStores are the stores of which importRun has a server running.
var servedStores sync.Map

// eachImport runs a test of imports on each kind of store, and on an embedded one that a
// server has open whenever something is imported.
func eachImport(t *testing.T, test func(t *testing.T, fresh newStore)) {
	t.Helper()
	eachStore(t, test)
	t.Run("served", func(t *testing.T) {
		t.Parallel()
		needStore(t, "sqlite")
		test(t, func(tb testing.TB) string {
			uri := newSQLite(tb)
			servedStores.Store(uri, true)
			return uri
		})
	})
}

// besideServer starts the server of a store that shall have one, with the schemas that an
// import is given.
func besideServer(t *testing.T, uri string, args []string) (stop func()) {
	t.Helper()
	if _, served := servedStores.Load(uri); !served {
		return func() {}
	}
	if i := slices.Index(args, "--schemas"); i >= 0 {
		return procServe(t, uri, args[i:i+2]...).stop
	}
	return procServe(t, uri).stop
}

// TestImportThroughServer: an import through a server needs none of its schemas, and takes
// turns with other callers. Those who are not the operator cannot use its routes.
func TestImportThroughServer(t *testing.T) {
	t.Parallel()
	uri, dir := newSQLite(t), t.TempDir()
	procFile(t, filepath.Join(dir, "gadgets.json"), procSchema("gadgets"))
	f := procFolder{procServe(t, uri, "--schemas", dir), dir}
	f.signIn("admin", procPassword)
	traffic := procTraffic(f.proc)
	lines := []string{"id,name,order"}
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("g%d,Gadget %d,", i, i))
	}
	file := procFile(t, filepath.Join(t.TempDir(), "many.csv"), strings.Join(lines, "\n"))
	procWants(t, importRun(t, 0, uri, "gadgets", file, "--context", "main"), "5,000 objects: 5,000 new")
	if n := traffic(); n == 0 {
		t.Error("no request ran beside the import")
	}
	procWants(t, importRun(t, 0, uri, "gadgets", file, "--context", "main", "--schemas", dir), "5,000 unchanged")
	gone(t, file)
	// The set that is served counts, whichever is given.
	procFile(t, filepath.Join(dir, "gadgets.json"), "{")
	procWants(t, importRun(t, 1, uri, "nothing", file, "--context", "main"), `there is no resource type "nothing"`, "gadgets")
	procWants(t, importRun(t, 1, uri, "gadgets", file, "--context", "none"), `there is no network "none"`, `"main"`)
	procWants(t, importRun(t, 1, uri, "gadgets", file), "name it with --context NETWORK")
	procWants(t, importRun(t, 1, uri, "locations", importFile(t, `{}`)), "while the service runs: stop it first")
	procWants(t, importRun(t, 1, uri, "gadgets", file, "--context", "main", "--application", "none"), "the server does not serve the schemas that this program knows")
	for _, path := range []string{"/operator/import", "/operator/import/stored"} {
		f.ask(http.StatusNotFound, http.MethodPost, path, `{"network": "main", "objects": []}`)
	}
	f.ask(http.StatusNotFound, http.MethodGet, "/operator/import", "")
	history := string(f.ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=gadgets&id=g7", "").body)
	procWants(t, history, `"totalCount":1`)
	procShuns(t, history, `"user"`)
	f.stop()
}

// TestImportOutlivesServer: an import whose server is killed is continued through the next
// one, or without one, and nothing is written twice.
func TestImportOutlivesServer(t *testing.T) {
	t.Parallel()
	const objects = 3000
	uri := newSQLite(t)
	p := procServe(t, uri)
	var lines []string
	for i := range objects {
		lines = append(lines, fmt.Sprintf(`{"text": "Note %d"}`, i))
	}
	file := importFile(t, lines...)
	args := []string{"notes", file, "--context", "main", "--chunk", "50"}
	for range 2 {
		importing := procLaunch(t, procCommand(t, importEnv, append([]string{"import", "--store", uri}, args...)...))
		awaitProgress(t, importing, file+".progress", 500)
		p.kill()
		importing.ends(1)
		procWants(t, importing.stderr.String(), "could not be written", "run the same command again to continue")
		p = procServe(t, uri)
	}
	p.signIn("admin", procPassword)
	procWants(t, importRun(t, 0, uri, args...), "Continuing after line", "3,000 objects: ", " 0 changed")
	gone(t, file)
	answer, _ := p.ask(http.StatusOK, http.MethodGet, "/api/v1/notes?context=main&pageSize=1", "").json().(map[string]any)
	if n := fmt.Sprint(answer["totalCount"]); n != fmt.Sprint(objects) {
		t.Errorf("there are %s objects", n)
	}
	p.stop()
	procWants(t, importRun(t, 0, uri, "notes", importFile(t, `{"text": "One more"}`), "--context", "main"), "1 object: 1 new")
}

// awaitProgress waits until an import has read some more lines than it had.
func awaitProgress(t *testing.T, p *proc, file string, more int64) {
	t.Helper()
	begun := int64(-1)
	p.eventually("the import does not go on", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("the import ended:\n%s", p.stderr)
		default:
		}
		var state struct{ Line int64 }
		content, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(content, &state) != nil {
			return false
		}
		if begun < 0 {
			begun = state.Line
		}
		return state.Line >= begun+more
	})
}

// TestImportCSV imports a CSV file, and the one with its rejected lines.
func TestImportCSV(t *testing.T) { eachImport(t, testImportCSV) }

func testImportCSV(t *testing.T, fresh newStore) {
	uri := importMade(t, fresh)
	dir := t.TempDir()
	orders := procFile(t, filepath.Join(dir, "orders.CSV"), "\ufeffid,Order name,labels,advertiser,unknown,notes\r\n"+
		"o1,\"=SUM(A1:A2), or \"\"so\"\"\",a;b,late,u,\r\n"+
		"o2,Two\r\n"+
		"o3,Th\"ree,,,,\r\n"+
		",,,,,\r\n"+
		"o4,007,,nobody,,\r\n"+
		"o5,Five,,late,,n1;n2\r\n")
	batch := importFile(t, `{"type": "advertisers", "object": {"id": "late", "name": "Late"}}`, `{"type": "notes", "object": {"id": "n1", "text": "N"}}`,
		`{"type": "notes", "object": {"id": "n2", "text": "N"}}`)
	importRun(t, 0, uri, batch, "--context", "main")
	report := filepath.Join(dir, "rejected.csv")
	args := []string{"orders", orders, "--context", "main", "--columns", "Order name=name"}
	procWants(t, importRun(t, 3, uri, append(args, "--rejected", report)...), "2 objects: 2 new", "/unknown is not a property of orders and was dropped", "3 lines were rejected", "import that file with --format csv and the same --columns.")
	gone(t, orders)
	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	procWants(t, string(content), "# line 3: The line has 2 values, and the header 6 columns.\n", "\nid,Order name,labels,advertiser,unknown,notes\n", "error.csv.quote", "\no4,007,,nobody,,\n")
	procFile(t, report, strings.NewReplacer("o2,Two\n", "o2,Two,,,,\n", `Th"ree`, "Three", "nobody", "late").Replace(string(content)))
	procWants(t, importRun(t, 0, uri, "orders", report, "--context", "main", "--columns", "Order name=name"), "3 objects: 3 new")
	if got, want := exportRun(t, uri, "orders", "--context", "main"), `{"id":"o1","objectState":"ACTIVE","advertiser":"late","labels":["a","b"],"name":"=SUM(A1:A2), or \"so\""}
{"id":"o2","objectState":"ACTIVE","name":"Two"}
{"id":"o3","objectState":"ACTIVE","name":"Three"}
{"id":"o4","objectState":"ACTIVE","advertiser":"late","name":"007"}
{"id":"o5","objectState":"ACTIVE","advertiser":"late","name":"Five","notes":["n1","n2"]}
`; got != want {
		t.Errorf("the orders are %s", got)
	}
	tiers := "name,minimumTraffic,priority\nFirst,12.5,3\nSecond,many,\n"
	file := procFile(t, filepath.Join(dir, "tiers"), tiers)
	procWants(t, importRun(t, 3, uri, "tiers", file, "--context", "main", "--format", "csv"), "1 object: 1 new", "line 3: /minimumTraffic")
	procWants(t, exportRun(t, uri, "tiers", "--context", "main"), `"minimumTraffic":12.5`, `"priority":3`)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"name the type of the objects before a CSV file", []string{orders}},
		{"--columns is for CSV", []string{"tiers", file, "--columns", "a=b"}},
		{"must be NAME=PATH", []string{"tiers", file, "--format", "csv", "--columns", "a"}},
		{`names the column \"a\" twice`, []string{"tiers", file, "--format", "csv", "--columns", "a=b,a=c"}},
	} {
		procWants(t, importRun(t, 2, uri, append(c.args, "--context", "main")...), strings.ReplaceAll(c.says, `\"`, `"`))
	}
	wide := procFile(t, filepath.Join(dir, "wide.csv"), "name"+strings.Repeat(",name", 9999)+"\n"+strings.Repeat(",", 9999)+"\n")
	procWants(t, importRun(t, 1, uri, "tiers", wide, "--context", "main"), "the header has 10000 columns, and at most 1000 are supported")
	gone(t, wide)
	procWants(t, importRun(t, 1, uri, "tiers", procFile(t, wide, "name,name\n"), "--context", "main"), `column 2 of the header, "name", has the name of column 1`)
	stream := procCommand(t, importEnv, "import", "tiers", "-", "--store", uri, "--context", "main", "--format", "csv")
	stream.Stdin = strings.NewReader("name,name\n")
	p := procLaunch(t, stream)
	p.ends(1)
	procWants(t, fmt.Sprint(p.stderr), "standard input: column 2 of the header")
	// The example of the manual.
	manual, err := os.ReadFile(filepath.FromSlash("../docs/how-to/import-and-export.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^    (id,name,labels,Customer)\n    (.*)\n    (.*)\n`).FindSubmatch(manual)
	if example == nil {
		t.Fatal("the manual has no example of CSV")
	}
	importRun(t, 0, uri, "--context", "main", importFile(t, `{"type": "advertisers", "object": {"id": "acme", "name": "Acme"}}`))
	file = procFile(t, filepath.Join(dir, "manual.csv"), string(bytes.Join(example[1:], []byte("\n")))+"\n")
	if out := importRun(t, 0, uri, "orders", file, "--context", "main", "--columns", "Customer=advertiser"); !strings.Contains(out, "2 objects: 2 new") || strings.Contains(out, "dropped") {
		t.Errorf("the example of the manual: %s", out)
	}
	// A value in quotes that never ends stops the import, which goes on when it is corrected.
	endless := "name,description\nA,a\nB,\"" + strings.Repeat("x\n", 600_000)
	procWants(t, importRun(t, 1, uri, "tiers", procFile(t, wide, endless), "--context", "main", "--chunk", "1"), "the value in quotes that line 3 begins does not end")
	procWants(t, importRun(t, 0, uri, "tiers", procFile(t, wide, "name,description\nA,a\nB,b\n"), "--context", "main", "--chunk", "1"), "Continuing after line 2", "2 objects: 2 new")
	gone(t, wide)
}
