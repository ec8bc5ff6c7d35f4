package transfer

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// parts is a type whose objects refer to each other.
const parts = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Part",
  "x-resource": {"path": "parts"},
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 255},
    "parent": {"$ref": "common/reference.json", "x-ref": "parts"},
    "machine": {"$ref": "common/reference.json", "x-ref": "machines"}
  }
}`

// machines refer to parts, which refer to machines.
const machines = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Machine",
  "x-resource": {"path": "machines"},
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 255},
    "motor": {"$ref": "common/reference.json", "x-ref": "parts"}
  }
}`

// TestImportOrder: objects may come in any order, also in cycles that are
// wider than a transaction.
func TestImportOrder(t *testing.T) { eachImport(t, testImportOrder) }

func testImportOrder(t *testing.T, fresh service.NewStore) {
	schemas := t.TempDir()
	process.File(t, filepath.Join(schemas, "parts.json"), parts)
	process.File(t, filepath.Join(schemas, "machines.json"), machines)
	var chain, circle, forest, pairs []string
	for i := range 30 { // each refers to the next line
		chain = append(chain, fmt.Sprintf(`{"id": "c%02d", "parent": "c%02d"}`, i, i+1))
	}
	chain = append(chain, `{"id": "c30"}`)
	for i := range 9 {
		circle = append(circle, fmt.Sprintf(`{"id": "r%d", "parent": "r%d"}`, i, (i+1)%9))
	}
	for i := range 50 { // far from each other, and updated later
		pairs = append(pairs, fmt.Sprintf(`{"id": "a%d", "parent": "b%d"}`, i, i), fmt.Sprintf(`{"id": "a%d", "name": "Again"}`, i))
	}
	for i := range 50 {
		pairs = append(pairs, fmt.Sprintf(`{"id": "b%d", "parent": {"id": "a%d"}}`, i, i))
	}
	forest = append(circle[:9:9], `{"id": "lost", "parent": "nowhere"}`, `{"id": "child", "parent": "lost"}`,
		`{"id": "lost", "name": "Found"}`)
	for _, c := range []struct {
		name, chunk string
		lines       []string
		code        int
		says        string
	}{
		{"chain", "7", chain, 0, "31 objects: 31 new"},
		{"circle", "2", circle, 0, "9 objects: 9 new"},
		{"pairs", "3", pairs, 0, "150 objects: 100 new, 50 changed"},
		{"circle and lost ones", "2", forest, 3, "11 objects: 2 new, 0 changed, 9 unchanged; 1 rejected"},
	} {
		uri := schemasStore(t, fresh, schemas)
		if c.name == "circle and lost ones" {
			process.ImportRun(t, 0, uri, "parts", process.ImportFile(t, circle...), "--context", "main", "--schemas", schemas)
		}
		file := process.ImportFile(t, c.lines...)
		process.Wants(t, process.ImportRun(t, c.code, uri, "parts", file, "--context", "main", "--chunk", c.chunk, "--schemas", schemas), c.says)
		process.Gone(t, file)
	}

	// Objects below a lost one are rejected for the references that they lack, as if each
	// had come alone; stored objects are not lost.
	uri := schemasStore(t, fresh, schemas)
	below := []string{`{"id": "b0", "parent": "nowhere"}`, `{"id": "b1", "parent": "b0"}`, `{"id": "b2", "parent": "b1", "machine": "none"}`,
		`{"id": "b3", "parent": {"id": "b2"}}`, `{"id": "old", "parent": "nowhere"}`, `{"id": "b5", "parent": "old"}`}
	process.ImportRun(t, 0, uri, "parts", process.ImportFile(t, `{"id": "old"}`), "--context", "main", "--schemas", schemas)
	var reports []map[int]process.Rejected
	for _, chunk := range []string{"1", "100"} {
		report := filepath.Join(t.TempDir(), "report")
		process.Wants(t, process.ImportRun(t, 3, uri, "parts", process.ImportFile(t, below...), "--context", "main", "--schemas", schemas, "--chunk", chunk, "--rejected", report), "5 rejected")
		reports = append(reports, process.ReadReport(t, report))
	}
	if !reflect.DeepEqual(reports[0], reports[1]) || reports[1][5].Messages == nil || reports[1][6].Messages != nil {
		t.Errorf("one by one %v, together %v", reports[0], reports[1])
	}

	// What comes from a circle of types goes back into one.
	uri = schemasStore(t, fresh, schemas)
	file := process.ImportFile(t, `{"type": "parts", "object": {"id": "p", "machine": "m"}}`, `{"type": "machines", "object": {"id": "m", "motor": "p"}}`)
	process.ImportRun(t, 0, uri, file, "--context", "main", "--schemas", schemas, "--chunk", "1")
	exported := process.ExportRun(t, uri, "parts", "machines", "--context", "main", "--schemas", schemas)
	if strings.Count(exported, "\n") != 2 {
		t.Errorf("the export is %s", exported)
	}
	// Through a stream, of which nothing can be read twice.
	again := schemasStore(t, fresh, schemas)
	cmd := process.Command(t, process.ImportEnv, "import", "--store", again, "--schemas", schemas, "--context", "main", "--chunk", "1", "-")
	cmd.Stdin = strings.NewReader(exported)
	p := process.Launch(t, cmd)
	p.Ends(0)
	if got := process.ExportRun(t, again, "parts", "machines", "--context", "main", "--schemas", schemas); got != exported {
		t.Errorf("%s\nbecomes\n%s", exported, got)
	}
}

func schemasStore(t *testing.T, fresh service.NewStore, schemas string) string {
	t.Helper()
	uri := fresh(t)
	process.Run(t, process.ImportEnv, "init", "--store", uri, "--schemas", schemas)
	return uri
}

// TestImportRefuses names what is wrong, and the cure.
func TestImportRefuses(t *testing.T) {
	process.SkipLong(t)
	eachImport(t, testImportRefuses)
}

func testImportRefuses(t *testing.T, fresh service.NewStore) {
	uri := process.ImportMade(t, fresh)
	object, envelope := process.ImportFile(t, `{"id": "a", "text": "A"}`), process.ImportFile(t, `{"type": "notes", "object": {"id": "a", "text": "A"}}`)
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"venues", object, "--context", "main"}, []string{`no resource type "venues"`, "notes, orders"}},
		{[]string{"notes", object}, []string{"--context NETWORK", `"main"`}},
		{[]string{"notes", object, "--context", "other"}, []string{`no network "other"`, `the networks are "main"`}},
		{[]string{envelope, "--context", "other"}, []string{`no network "other"`}},
		{[]string{"users", object, "--context", "main"}, []string{"users belong to no network", "leave --context out"}},
		{[]string{"notes", object + "-no", "--context", "main"}, []string{"cannot be read: there is no "}},
		{[]string{"notes", dir, "--context", "main"}, []string{"is a folder"}},
		{[]string{"notes", object, "--context", "main", "--rejected", object}, []string{"cannot be both"}},
		{[]string{"notes", object, "--context", "main", "--chunk", "0"}, []string{"from 1 to 10000"}},
		{[]string{"notes", "-", "--context", "main", "--progress", "p"}, []string{"standard input", "to a file first"}},
		{[]string{"notes", envelope, "--context", "main"}, []string{"line 1 is an envelope", "omit the type"}},
		{[]string{object, "--context", "main"}, []string{"line 1 is not an envelope", "name the type"}},
		{[]string{"notes", object, "--context", "main", "--progress", filepath.Join(dir, "no", "p")}, []string{"cannot be saved", "--progress"}},
		{[]string{"notes", object, "--context", "main", "--progress", process.File(t, filepath.Join(dir, "p"), "{}")}, []string{"does not contain the progress", "--restart"}},
	} {
		process.Wants(t, process.Fails(t, process.ImportEnv, append([]string{"import", "--store", uri}, c.args...)...), c.says...)
	}
	// A context that only a line needs.
	process.Wants(t, process.ImportRun(t, 3, uri, envelope), "/context: The parameter context must be set, in the line or with --context")
	process.ImportRun(t, 0, uri, process.ImportFile(t, `{"type": "notes", "context": "main", "object": {"id": "b", "text": "B"}}`))
	process.Wants(t, process.ImportRun(t, 3, uri, process.ImportFile(t, `{"type": "notes", "context": "nowhere", "object": {"text": "C"}}`)),
		"line 1: The object nowhere of type networks that /context refers to does not exist.", "0 objects")
	process.Wants(t, process.ImportRun(t, 0, uri, "--chunk", "1", process.ImportFile(t, `{"type": "notes", "context": "later", "object": {"text": "D"}}`,
		`{"type": "networks", "object": {"id": "later", "name": "Later"}}`)), "2 objects: 2 new")
	if got := process.ExportRun(t, uri, "notes", "--context", "main"); got != `{"id":"b","objectState":"ACTIVE","text":"B"}`+"\n" {
		t.Errorf("there are %s", got)
	}
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"venues", "--context", "main"}, []string{`no resource type "venues"`, "notes, orders"}},
		{nil, []string{"--context NETWORK", "--all-networks", `"main"`}},
		{[]string{"--context", "other"}, []string{`no network "other"`, `the networks are "later", "main"`}},
		{[]string{"users", "--context", "main"}, []string{"leave --context out"}},
		{[]string{"--context", "main", "--all-networks"}, []string{"leave one out"}},
		{[]string{"--context", "main", "--output", dir}, []string{"is not a regular file"}},
		{[]string{"--context", "main", "--output", filepath.Join(dir, "no", "file")}, []string{"cannot be made"}},
	} {
		process.Wants(t, process.Fails(t, process.ImportEnv, append([]string{"export", "--store", uri}, c.args...)...), c.says...)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the refused commands left %v %v", left, err)
	}
}
