package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"marquee/engine/store"
)

// importEnv is the environment of imports and exports: nothing that the tests
// do not say.
var importEnv = []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword}

// importMade is a store with the network main.
func importMade(t *testing.T, fresh newStore) string {
	t.Helper()
	uri := fresh(t)
	procRun(t, importEnv, "init", "--store", uri)
	return uri
}

// importRun runs an import that ends with a code, and returns what it says.
func importRun(t *testing.T, code int, uri string, args ...string) string {
	t.Helper()
	defer besideServer(t, uri, args)()
	p := procLaunch(t, procCommand(t, importEnv, append([]string{"import", "--store", uri}, args...)...))
	p.ends(code)
	procShuns(t, p.stdout.String()+p.stderr.String(), "\r", "\x1b", "goroutine")
	return p.printed()
}

// exportRun returns what an export writes to standard output.
func exportRun(t *testing.T, uri string, args ...string) string {
	t.Helper()
	p := procLaunch(t, procCommand(t, importEnv, append([]string{"export", "--store", uri}, args...)...))
	p.ends(0)
	return p.stdout.String()
}

func importFile(t *testing.T, lines ...string) string {
	t.Helper()
	return procFile(t, filepath.Join(t.TempDir(), "data.ndjson"), strings.Join(lines, "\n")+"\n")
}

// rejected is one line of a report.
type rejected struct {
	Line     int
	Messages []rejectedMessage
	// Text is the line itself, "" when it is left out.
	Text string `json:"-"`
}

type rejectedMessage struct {
	Code   string
	Params map[string]any
}

func readReport(t *testing.T, path string) map[int]rejected {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report, last := map[int]rejected{}, 0
	for text := range strings.Lines(string(content)) {
		text = strings.TrimSuffix(text, "\n")
		if said, is := strings.CutPrefix(text, "# {"); is {
			var r rejected
			if err := json.Unmarshal([]byte("{"+said), &r); err != nil {
				t.Fatal(err)
			}
			if _, twice := report[r.Line]; twice {
				t.Errorf("line %d is reported twice", r.Line)
			}
			report[r.Line], last = r, r.Line
		} else if !strings.HasPrefix(text, "# ") {
			r := report[last]
			if r.Text != "" {
				t.Errorf("line %d is followed by %q and %q", last, r.Text, text)
			}
			r.Text = text
			report[last] = r
		}
	}
	return report
}

// gone checks that an import has left nothing but its file.
func gone(t *testing.T, file string) {
	t.Helper()
	left, err := filepath.Glob(file + "?*")
	if err != nil || len(left) > 0 {
		t.Errorf("the import left %v %v", left, err)
	}
}

// TestImportReadOnly: a type that is read-only over HTTP gets its objects by
// import, with their secrets.
func TestImportReadOnly(t *testing.T) { eachImport(t, testImportReadOnly) }

func testImportReadOnly(t *testing.T, fresh newStore) {
	uri := importMade(t, fresh)
	file := importFile(t, `{"id": "one", "name": "One", "ssp": "EXAMPLE", "apiKey": "the secret of one"}`, ``,
		`{"name": "Two", "ssp": "EXAMPLE", "objectState": "INACTIVE", "createTime": "2001-01-01T00:00:00Z"}`)
	out := importRun(t, 0, uri, "sspconnections", file, "--context", "main")
	procWants(t, out, "2 objects: 2 new")
	procShuns(t, out, "the secret of one")
	gone(t, file)
	p := procServe(t, uri)
	p.signIn("admin", procPassword)
	a := p.ask(http.StatusOK, http.MethodGet, "/api/v1/sspconnections?context=main&orderBy=name", "")
	procWants(t, string(a.body), `"the secret of one"`, `"INACTIVE"`, `"totalCount":2`)
	procShuns(t, string(a.body), "2001-01-01")
	p.ask(http.StatusMethodNotAllowed, http.MethodPost, "/api/v1/sspconnections/one?context=main", `{}`)
	p.stop()
}

// TestImportRejects leaves out the lines at fault, and those only.
func TestImportRejects(t *testing.T) { eachImport(t, testImportRejects) }

func testImportRejects(t *testing.T, fresh newStore) {
	uri := importMade(t, fresh)
	lines := []string{
		`{"type": "orders", "object": {"id": "early", "name": "Early", "advertiser": "late"}}`,
		`{"type": "orders", "object": {"id": "never", "name": "Never", "advertiser": "nobody"}}`,
		`{"type": "orders", "object": {"id": "broken", "name": }}`,
		`{"type": "venues", "object": {"id": "x"}}`,
		`[]`,
		`{"type": "orders", "object": {"id": "x", "name": ""}}`,
		`{"type": "orders", "object": {"id": "early", "name": "Early again"}}`,
		`{"type": "tiers", "object": {"id": "..", "name": "Dots"}}`,
		`{"type": "tiers", "object": {"id": "elsewhere", "name": "E"}, "context": "elsewhere"}`,
		`{"type": "tiers", "object": {"id": "long", "description": "` + strings.Repeat("x", 5<<20) + `"}}`,
		`{"type": "creatives", "object": {"name": "No id"}}`,
		`{"type": "tiers", "object": {"id": "fine", "name": "Fine", "novelty": 1}}`,
	}
	codes := map[int]string{2: "error.referenced.object.not.found", 3: "error.body.syntax", 4: "error.batch.type.unknown", 5: "error.body.not.object",
		6: "error.value.too.short", 8: "error.id.invalid", 9: "error.parameter.invalid", 10: "error.object.too.large", 11: "error.id.required"}
	for i := range 250 { // more faults than a refused chunk lists
		lines = append(lines, fmt.Sprintf(`{"type": "tiers", "object": {"id": "t%d", "priority": "high"}}`, i), fmt.Sprintf(`{"type": "tiers", "object": {"id": "good%d", "name": "T"}}`, i))
		codes[len(lines)-1] = "error.property.required"
	}
	lines = append(lines, `{"type": "advertisers", "object": {"id": "late", "name": "Late"}}`)
	file, report := importFile(t, lines...), filepath.Join(t.TempDir(), "report")
	out := importRun(t, 3, uri, file, "--context", "main", "--rejected", report)
	procWants(t, out, "254 objects", "253 new, 1 changed", "259 lines were rejected", "/novelty is not a property of tiers")
	gone(t, file)
	got := readReport(t, report)
	for line, code := range codes {
		r := got[line]
		if !slices.ContainsFunc(r.Messages, func(m rejectedMessage) bool { return m.Code == code }) {
			t.Errorf("line %d is reported as %v instead of %s", line, r, code)
		}
	}
	for line, r := range got {
		if wanted := lines[line-1]; r.Text != wanted && !(line == 10 && r.Text == "") { // which is too long
			t.Errorf("line %d is in the report as %q", line, r.Text)
		}
	}
	if len(got) != len(codes) {
		t.Errorf("%d lines are reported instead of %d", len(got), len(codes))
	}
	if place := got[3].Messages[0].Params; place["line"] != 3.0 || place["column"] != 55.0 {
		t.Errorf("bad JSON is at %v", place)
	}
	orders := exportRun(t, uri, "orders", "--context", "main")
	if want := `{"id":"early","objectState":"ACTIVE","advertiser":"late","name":"Early again"}` + "\n"; orders != want {
		t.Errorf("the orders are %s", orders)
	}
	// Without a report, the first lines are named.
	out = importRun(t, 3, uri, file, "--context", "main")
	procWants(t, out, "line 6: /name must have at least 1 characters.", "… and 239 more")
	procWants(t, importRun(t, 3, uri, importFile(t, lines[:2]...), "--context", "main"), "line 2: The object nobody of type advertisers that /advertiser refers to does not exist.", "1 line was rejected")
}

// TestImportStrict stops at the first fault, and goes on when it is mended.
func TestImportStrict(t *testing.T) { eachImport(t, testImportStrict) }

func testImportStrict(t *testing.T, fresh newStore) {
	uri := importMade(t, fresh)
	lines := []string{`{"id": "a", "text": "A"}`, `{"id": "b", "text": "B"}`, `{"id": "c", "text": "C"}`, `{"id": "d", "texts": "D"}`, `{"text": "E"}`}
	file := importFile(t, lines...)
	args := []string{"notes", file, "--context", "main", "--chunk", "2", "--strict", "--field-validation", "Strict"}
	out := importRun(t, 1, uri, args...)
	procWants(t, out, "line 4 is invalid", "/text is required", "run the same command again to continue")
	if got := exportRun(t, uri, "notes", "--context", "main"); strings.Count(got, "\n") != 2 {
		t.Errorf("there are %s", got)
	}
	for _, other := range [][]string{{"notes", file, "--context", "main"}, {"notes", file, "--context", "main", "--field-validation", "Strict", "--rejected", file + "-r"}} {
		procWants(t, importRun(t, 1, uri, other...), "use the same value", "--restart")
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	procFile(t, file, strings.Replace(string(before), `"A"`, `"a"`, 1))
	procWants(t, importRun(t, 1, uri, args...), "has changed since", "--restart")
	procFile(t, file, string(before[:20]))
	procWants(t, importRun(t, 1, uri, args...), "has changed since")
	procFile(t, file, strings.Replace(string(before), `texts`, `text`, 1))
	procWants(t, importRun(t, 0, uri, args...), "Continuing after line 2", "5 objects: 5 new")
	gone(t, file)
	// A mended beginning is what --restart is for.
	procFile(t, file, strings.Replace(string(before), `{"id": "b"`, `{"id": "."`, 1))
	importRun(t, 1, uri, args...)
	procFile(t, file, `{"id": "a", "text": "A"}`+"\n")
	procWants(t, importRun(t, 0, uri, append(args, "--restart")...), "1 object: 0 new, 0 changed, 1 unchanged")
	gone(t, file)
}

// TestImportGoesOnAfterKill: what was written when the process was killed is
// not written twice, whether it was noted or not.
func TestImportGoesOnAfterKill(t *testing.T) { eachStore(t, testImportGoesOnAfterKill) }

func testImportGoesOnAfterKill(t *testing.T, fresh newStore) {
	const objects, perChunk = 3000, 100
	uri := crashStore(t, func(tb testing.TB) string { return importMade(t, fresh) })
	var lines []string
	for i := range objects {
		// Those of the first half wait for objects in the second, and
		// every other one has no id of its own.
		id := fmt.Sprintf(`"id": "o%d", `, i)
		if i%2 == 1 {
			id = ""
		}
		if i%100 == 7 {
			lines = append(lines, fmt.Sprintf(`{"type": "orders", "object": {%s"name": "Waits %d", "advertiser": "a"}}`, id, i))
		} else {
			lines = append(lines, fmt.Sprintf(`{"type": "notes", "object": {%s"text": "Note %d"}}`, id, i))
		}
	}
	lines[550] = `{"type": "notes", "object": {}}`
	lines[objects-1] = `{"type": "advertisers", "object": {"id": "a", "name": "A"}}`
	file, report := importFile(t, lines...), filepath.Join(t.TempDir(), "report")
	args := []string{file, "--context", "main", "--chunk", fmt.Sprint(perChunk), "--rejected", report}

	early := killImport(t, uri, file, args)
	endTransactions(t, uri)
	procFile(t, file+".progress", early) // as if what came behind had not been noted
	out := importRun(t, 3, uri, args...)
	procWants(t, out, "Continuing after line", fmt.Sprintf("%d,999 objects", objects/1000-1), "1 line was rejected")
	gone(t, file)
	if got := readReport(t, report); len(got) != 1 || len(got[551].Messages) != 1 {
		t.Errorf("the report is %v", got)
	}
	s, err := openStore(t, uri)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	history, written := crashHistory(t, s), 0
	err = s.Read(context.Background(), func(r store.Snapshot) error {
		written = 0
		for _, kind := range []string{"notes", "orders", "advertisers"} {
			err := r.Scan(context.Background(), kind, store.Key{}, 1<<20, func(r *store.Record) error {
				written++
				if revisions := history[crashKey(kind, r.Network, r.ID)]; r.Revision != 1 || len(revisions) != 1 || revisions[1] != 1 {
					t.Errorf("%s %s is at revision %d, and its changes have %v", kind, r.ID, r.Revision, revisions)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || written != objects-1 {
		t.Errorf("there are %d objects instead of %d: %v", written, objects-1, err)
	}
}

// killImport kills an import after some chunks, and returns the progress that
// it had noted some chunks before.
func killImport(t *testing.T, uri, file string, args []string) (early string) {
	t.Helper()
	watch, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if err := watch.Add(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	p := procLaunch(t, procCommand(t, importEnv, append([]string{"import", "--store", uri}, args...)...))
	noted := 0
	for noted < 10 {
		select {
		case event := <-watch.Events:
			if event.Name != file+".progress" || !event.Has(fsnotify.Create) {
				continue
			}
			if noted++; noted == 4 {
				content, err := os.ReadFile(event.Name)
				if err != nil {
					t.Fatal(err)
				}
				early = string(content)
			}
		case <-p.exited:
			t.Fatalf("the import ended before it was killed:\n%s", p.stderr)
		}
	}
	p.kill()
	if p.code == 0 {
		t.Fatal("the import was not killed")
	}
	return early
}
