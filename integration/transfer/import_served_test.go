package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// eachImport runs a test of imports on each kind of store, and on an embedded one that a
// server has open whenever something is imported.
func eachImport(t *testing.T, test func(t *testing.T, fresh service.NewStore)) {
	t.Helper()
	service.EachStore(t, test)
	t.Run("served", func(t *testing.T) {
		t.Parallel()
		service.NeedStore(t, "sqlite")
		if !strings.HasPrefix(t.Name(), "TestImportOrder/") {
			process.SkipCoveredBy(t, "TestImportOrder")
		}
		test(t, func(tb testing.TB) string {
			uri := service.NewSQLite(tb)
			process.ServedStores.Store(uri, true)
			return uri
		})
	})
}

// TestImportThroughServer: an import through a server needs none of its schemas, and takes
// turns with other callers. Those who are not the operator cannot use its routes.
func TestImportThroughServer(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	uri, dir := service.NewSQLite(t), t.TempDir()
	process.File(t, filepath.Join(dir, "gadgets.json"), process.Schema("gadgets"))
	f := process.Folder{Process: process.Serve(t, uri, "--schemas", dir), Dir: dir}
	f.SignIn("admin", process.Password)
	traffic := process.Traffic(f.Process)
	lines := []string{"id,name,order"}
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("g%d,Gadget %d,", i, i))
	}
	file := process.File(t, filepath.Join(t.TempDir(), "many.csv"), strings.Join(lines, "\n"))
	process.Wants(t, process.ImportRun(t, 0, uri, "gadgets", file, "--context", "main"), "5,000 objects: 5,000 new")
	if n := traffic(); n == 0 {
		t.Error("no request ran beside the import")
	}
	process.Wants(t, process.ImportRun(t, 0, uri, "gadgets", file, "--context", "main", "--schemas", dir), "5,000 unchanged")
	process.Gone(t, file)
	// The set that is served counts, whichever is given.
	process.File(t, filepath.Join(dir, "gadgets.json"), "{")
	process.Wants(t, process.ImportRun(t, 1, uri, "nothing", file, "--context", "main"), `there is no resource type "nothing"`, "gadgets")
	process.Wants(t, process.ImportRun(t, 1, uri, "gadgets", file, "--context", "none"), `there is no network "none"`, `"main"`)
	process.Wants(t, process.ImportRun(t, 1, uri, "gadgets", file), "name it with --context NETWORK")
	process.Wants(t, process.ImportRun(t, 1, uri, "locations", process.ImportFile(t, `{}`)), "while the service runs: stop it first")
	process.Wants(t, process.ImportRun(t, 1, uri, "gadgets", file, "--context", "main", "--application", "none"), "the server does not serve the schemas that this program knows")
	for _, path := range []string{"/operator/import", "/operator/import/stored"} {
		f.Ask(http.StatusNotFound, http.MethodPost, path, `{"network": "main", "objects": []}`)
	}
	f.Ask(http.StatusNotFound, http.MethodGet, "/operator/import", "")
	history := string(f.Ask(http.StatusOK, http.MethodGet, "/api/v1/audit?context=main&type=gadgets&id=g7", "").Body)
	process.Wants(t, history, `"totalCount":1`)
	process.Shuns(t, history, `"user"`)
	f.Stop()
}

// TestImportOutlivesServer: an import whose server is killed is continued through the next
// one, or without one, and nothing is written twice.
func TestImportOutlivesServer(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	const objects = 3000
	uri := service.NewSQLite(t)
	p := process.Serve(t, uri)
	var lines []string
	for i := range objects {
		lines = append(lines, fmt.Sprintf(`{"text": "Note %d"}`, i))
	}
	file := process.ImportFile(t, lines...)
	args := []string{"notes", file, "--context", "main", "--chunk", "50"}
	for range 2 {
		importing := process.Launch(t, process.Command(t, process.ImportEnv, append([]string{"import", "--store", uri}, args...)...))
		awaitProgress(t, importing, file+".progress", 500)
		p.Kill()
		importing.Ends(1)
		process.Wants(t, importing.Stderr.String(), "could not be written", "run the same command again to continue")
		p = process.Serve(t, uri)
	}
	p.SignIn("admin", process.Password)
	process.Wants(t, process.ImportRun(t, 0, uri, args...), "Continuing after line", "3,000 objects: ", " 0 changed")
	process.Gone(t, file)
	answer, _ := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/notes?context=main&pageSize=1", "").JSON().(map[string]any)
	if n := fmt.Sprint(answer["totalCount"]); n != fmt.Sprint(objects) {
		t.Errorf("there are %s objects", n)
	}
	p.Stop()
	process.Wants(t, process.ImportRun(t, 0, uri, "notes", process.ImportFile(t, `{"text": "One more"}`), "--context", "main"), "1 object: 1 new")
}

// awaitProgress waits until an import has read some more lines than it had.
func awaitProgress(t *testing.T, p *process.Process, file string, more int64) {
	t.Helper()
	begun := int64(-1)
	p.Eventually("the import does not go on", func() bool {
		select {
		case <-p.Exited:
			t.Fatalf("the import ended:\n%s", p.Stderr)
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

func testImportCSV(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	dir := t.TempDir()
	orders := process.File(t, filepath.Join(dir, "orders.CSV"), "\ufeffid,Order name,labels,advertiser,unknown,notes\r\n"+
		"o1,\"=SUM(A1:A2), or \"\"so\"\"\",a;b,late,u,\r\n"+
		"o2,Two\r\n"+
		"o3,Th\"ree,,,,\r\n"+
		",,,,,\r\n"+
		"o4,007,,nobody,,\r\n"+
		"o5,Five,,late,,n1;n2\r\n")
	batch := process.ImportFile(t, `{"type": "advertisers", "object": {"id": "late", "name": "Late"}}`, `{"type": "notes", "object": {"id": "n1", "text": "N"}}`,
		`{"type": "notes", "object": {"id": "n2", "text": "N"}}`)
	process.ImportRun(t, 0, uri, batch, "--context", "main")
	report := filepath.Join(dir, "rejected.csv")
	args := []string{"orders", orders, "--context", "main", "--columns", "Order name=name"}
	process.Wants(t, process.ImportRun(t, 3, uri, append(args, "--rejected", report)...), "2 objects: 2 new", "/unknown is not a property of orders and was dropped", "3 lines were rejected", "import that file with --format csv and the same --columns.")
	process.Gone(t, orders)
	content, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	process.Wants(t, string(content), "# line 3: The line has 2 values, and the header 6 columns.\n", "\nid,Order name,labels,advertiser,unknown,notes\n", "error.csv.quote", "\no4,007,,nobody,,\n")
	process.File(t, report, strings.NewReplacer("o2,Two\n", "o2,Two,,,,\n", `Th"ree`, "Three", "nobody", "late").Replace(string(content)))
	process.Wants(t, process.ImportRun(t, 0, uri, "orders", report, "--context", "main", "--columns", "Order name=name"), "3 objects: 3 new")
	if got, want := process.ExportRun(t, uri, "orders", "--context", "main"), `{"id":"o1","objectState":"ACTIVE","advertiser":"late","labels":["a","b"],"name":"=SUM(A1:A2), or \"so\""}
{"id":"o2","objectState":"ACTIVE","name":"Two"}
{"id":"o3","objectState":"ACTIVE","name":"Three"}
{"id":"o4","objectState":"ACTIVE","advertiser":"late","name":"007"}
{"id":"o5","objectState":"ACTIVE","advertiser":"late","name":"Five","notes":["n1","n2"]}
`; got != want {
		t.Errorf("the orders are %s", got)
	}
	tiers := "name,minimumTraffic,priority\nFirst,12.5,3\nSecond,many,\n"
	file := process.File(t, filepath.Join(dir, "tiers"), tiers)
	process.Wants(t, process.ImportRun(t, 3, uri, "tiers", file, "--context", "main", "--format", "csv"), "1 object: 1 new", "line 3: /minimumTraffic")
	process.Wants(t, process.ExportRun(t, uri, "tiers", "--context", "main"), `"minimumTraffic":12.5`, `"priority":3`)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"name the type of the objects before a CSV file", []string{orders}},
		{"--columns is for CSV", []string{"tiers", file, "--columns", "a=b"}},
		{"must be NAME=PATH", []string{"tiers", file, "--format", "csv", "--columns", "a"}},
		{`names the column \"a\" twice`, []string{"tiers", file, "--format", "csv", "--columns", "a=b,a=c"}},
	} {
		process.Wants(t, process.ImportRun(t, 2, uri, append(c.args, "--context", "main")...), strings.ReplaceAll(c.says, `\"`, `"`))
	}
	wide := process.File(t, filepath.Join(dir, "wide.csv"), "name"+strings.Repeat(",name", 9999)+"\n"+strings.Repeat(",", 9999)+"\n")
	process.Wants(t, process.ImportRun(t, 1, uri, "tiers", wide, "--context", "main"), "the header has 10000 columns, and at most 1000 are supported")
	process.Gone(t, wide)
	process.Wants(t, process.ImportRun(t, 1, uri, "tiers", process.File(t, wide, "name,name\n"), "--context", "main"), `column 2 of the header, "name", has the name of column 1`)
	stream := process.Command(t, process.ImportEnv, "import", "tiers", "-", "--store", uri, "--context", "main", "--format", "csv")
	stream.Stdin = strings.NewReader("name,name\n")
	p := process.Launch(t, stream)
	p.Ends(1)
	process.Wants(t, fmt.Sprint(p.Stderr), "standard input: column 2 of the header")
	// The example of the manual.
	manual, err := os.ReadFile(filepath.FromSlash("../../docs/how-to/import-and-export.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile(`(?m)^    (id,name,labels,Customer)\n    (.*)\n    (.*)\n`).FindSubmatch(manual)
	if example == nil {
		t.Fatal("the manual has no example of CSV")
	}
	process.ImportRun(t, 0, uri, "--context", "main", process.ImportFile(t, `{"type": "advertisers", "object": {"id": "acme", "name": "Acme"}}`))
	file = process.File(t, filepath.Join(dir, "manual.csv"), string(bytes.Join(example[1:], []byte("\n")))+"\n")
	if out := process.ImportRun(t, 0, uri, "orders", file, "--context", "main", "--columns", "Customer=advertiser"); !strings.Contains(out, "2 objects: 2 new") || strings.Contains(out, "dropped") {
		t.Errorf("the example of the manual: %s", out)
	}
	// A value in quotes that never ends stops the import, which goes on when it is corrected.
	endless := "name,description\nA,a\nB,\"" + strings.Repeat("x\n", 600_000)
	process.Wants(t, process.ImportRun(t, 1, uri, "tiers", process.File(t, wide, endless), "--context", "main", "--chunk", "1"), "the value in quotes that line 3 begins does not end")
	process.Wants(t, process.ImportRun(t, 0, uri, "tiers", process.File(t, wide, "name,description\nA,a\nB,b\n"), "--context", "main", "--chunk", "1"), "Continuing after line 2", "2 objects: 2 new")
	process.Gone(t, wide)
}
