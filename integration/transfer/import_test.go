package transfer

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"marquee/engine/store"
	"marquee/integration/process"
	"marquee/integration/service"
)

// TestImportReadOnly: a type that is read-only over HTTP gets its objects by
// import, with their secrets.
func TestImportReadOnly(t *testing.T) { eachImport(t, testImportReadOnly) }

func testImportReadOnly(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	file := process.ImportFile(t, `{"id": "one", "name": "One", "ssp": "EXAMPLE", "apiKey": "the secret of one"}`, ``,
		`{"name": "Two", "ssp": "EXAMPLE", "objectState": "INACTIVE", "createTime": "2001-01-01T00:00:00Z"}`)
	out := process.ImportRun(t, 0, uri, "sspconnections", file, "--context", "main")
	process.Wants(t, out, "2 objects: 2 new")
	process.Shuns(t, out, "the secret of one")
	process.Gone(t, file)
	p := process.Serve(t, uri)
	p.SignIn("admin", process.Password)
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/sspconnections?context=main&orderBy=name", "")
	process.Wants(t, string(a.Body), `"the secret of one"`, `"INACTIVE"`, `"totalCount":2`)
	process.Shuns(t, string(a.Body), "2001-01-01")
	p.Ask(http.StatusMethodNotAllowed, http.MethodPost, "/api/v1/sspconnections/one?context=main", `{}`)
	p.Stop()
}

// TestImportRejects leaves out the lines at fault, and those only.
func TestImportRejects(t *testing.T) { eachImport(t, testImportRejects) }

func testImportRejects(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
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
	file, report := process.ImportFile(t, lines...), filepath.Join(t.TempDir(), "report")
	out := process.ImportRun(t, 3, uri, file, "--context", "main", "--rejected", report)
	process.Wants(t, out, "254 objects", "253 new, 1 changed", "259 lines were rejected", "/novelty is not a property of tiers")
	process.Gone(t, file)
	got := process.ReadReport(t, report)
	for line, code := range codes {
		r := got[line]
		if !slices.ContainsFunc(r.Messages, func(m process.RejectedMessage) bool { return m.Code == code }) {
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
	orders := process.ExportRun(t, uri, "orders", "--context", "main")
	if want := `{"id":"early","objectState":"ACTIVE","advertiser":"late","name":"Early again"}` + "\n"; orders != want {
		t.Errorf("the orders are %s", orders)
	}
	// Without a report, the first lines are named.
	out = process.ImportRun(t, 3, uri, file, "--context", "main")
	process.Wants(t, out, "line 6: /name is too short: the minimum length is 1.", "… and 239 more")
	process.Wants(t, process.ImportRun(t, 3, uri, process.ImportFile(t, lines[:2]...), "--context", "main"), "line 2: The object nobody of type advertisers that /advertiser refers to does not exist.", "1 line was rejected")
}

// TestImportStrict stops at the first fault, and goes on when it is mended.
func TestImportStrict(t *testing.T) {
	process.SkipLong(t)
	eachImport(t, testImportStrict)
}

func testImportStrict(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	lines := []string{`{"id": "a", "text": "A"}`, `{"id": "b", "text": "B"}`, `{"id": "c", "text": "C"}`, `{"id": "d", "texts": "D"}`, `{"text": "E"}`}
	file := process.ImportFile(t, lines...)
	args := []string{"notes", file, "--context", "main", "--chunk", "2", "--strict", "--field-validation", "Strict"}
	out := process.ImportRun(t, 1, uri, args...)
	process.Wants(t, out, "line 4 is invalid", "/text is required", "run the same command again to continue")
	if got := process.ExportRun(t, uri, "notes", "--context", "main"); strings.Count(got, "\n") != 2 {
		t.Errorf("there are %s", got)
	}
	for _, other := range [][]string{{"notes", file, "--context", "main"}, {"notes", file, "--context", "main", "--field-validation", "Strict", "--rejected", file + "-r"}} {
		process.Wants(t, process.ImportRun(t, 1, uri, other...), "use the same value", "--restart")
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	process.File(t, file, strings.Replace(string(before), `"A"`, `"a"`, 1))
	process.Wants(t, process.ImportRun(t, 1, uri, args...), "has changed since", "--restart")
	process.File(t, file, string(before[:20]))
	process.Wants(t, process.ImportRun(t, 1, uri, args...), "has changed since")
	process.File(t, file, strings.Replace(string(before), `texts`, `text`, 1))
	process.Wants(t, process.ImportRun(t, 0, uri, args...), "Continuing after line 2", "5 objects: 5 new")
	process.Gone(t, file)
	// A mended beginning is what --restart is for.
	process.File(t, file, strings.Replace(string(before), `{"id": "b"`, `{"id": "."`, 1))
	process.ImportRun(t, 1, uri, args...)
	process.File(t, file, `{"id": "a", "text": "A"}`+"\n")
	process.Wants(t, process.ImportRun(t, 0, uri, append(args, "--restart")...), "1 object: 0 new, 0 changed, 1 unchanged")
	process.Gone(t, file)
}

// TestImportGoesOnAfterKill: what was written when the process was killed is
// not written twice, whether it was noted or not.
func TestImportGoesOnAfterKill(t *testing.T) { service.EachStore(t, testImportGoesOnAfterKill) }

func testImportGoesOnAfterKill(t *testing.T, fresh service.NewStore) {
	const objects, perChunk = 3000, 100
	uri := process.CrashStore(t, func(tb testing.TB) string { return process.ImportMade(t, fresh) })
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
	file, report := process.ImportFile(t, lines...), filepath.Join(t.TempDir(), "report")
	args := []string{file, "--context", "main", "--chunk", fmt.Sprint(perChunk), "--rejected", report}

	early := killImport(t, uri, file, args)
	process.EndTransactions(t, uri)
	process.File(t, file+".progress", early) // as if what came behind had not been noted
	out := process.ImportRun(t, 3, uri, args...)
	process.Wants(t, out, "Continuing after line", fmt.Sprintf("%d,999 objects", objects/1000-1), "1 line was rejected")
	process.Gone(t, file)
	if got := process.ReadReport(t, report); len(got) != 1 || len(got[551].Messages) != 1 {
		t.Errorf("the report is %v", got)
	}
	s, err := service.OpenStore(t, uri)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	history, written := process.CrashHistory(t, s), 0
	err = s.Read(context.Background(), func(r store.Snapshot) error {
		written = 0
		for _, kind := range []string{"notes", "orders", "advertisers"} {
			err := r.Scan(context.Background(), kind, store.Key{}, 1<<20, func(r *store.Record) error {
				written++
				if revisions := history[service.CrashKey(kind, r.Network, r.ID)]; r.Revision != 1 || len(revisions) != 1 || revisions[1] != 1 {
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
	p := process.Launch(t, process.Command(t, process.ImportEnv, append([]string{"import", "--store", uri}, args...)...))
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
		case <-p.Exited:
			t.Fatalf("the import ended before it was killed:\n%s", p.Stderr)
		}
	}
	p.Kill()
	if p.Code == 0 {
		t.Fatal("the import was not killed")
	}
	return early
}
