package transfer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine/schema"
	"marquee/schemas/base"
)

// halls is a type with a property of each kind.
var halls = fstest.MapFS{
	"halls.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-resource": {"path": "halls"}, "type": "object", "required": ["name"],
		"properties": {"name": {"type": "string"}, "seats": {"type": "integer"}, "price": {"type": ["number", "null"]}, "open": {"type": "boolean"}, "code": {"type": ["string", "integer"]},
		"labels": {"type": "array", "items": {"type": "string"}}, "rows": {"type": "array", "items": {"type": "integer"}}, "near": {"x-ref": {"type": "halls"}},
		"others": {"type": "array", "items": {"x-ref": {"type": "halls"}}}, "shows": {"type": "array", "items": {"type": "object", "properties": {"at": {"type": "string"}}}},
		"address": {"type": "object", "properties": {"city": {"type": "string"}, "place": {"type": "object", "properties": {"floor": {"type": "integer"}}}}}}}`)},
}

func hallType(t *testing.T) *schema.Type {
	t.Helper()
	registry, err := schema.Load(schema.Source{FS: base.FS}, schema.Source{Name: "test", FS: halls})
	if err != nil {
		t.Fatal(err)
	}
	hall, _ := registry.Type("halls")
	return hall
}

// The records of a file, each with the number of its first line and with its bytes as the
// position of the next one says. Reading goes on from each position.
func TestCSVRecords(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"plain":              {"id,name\na,A\nb,B", []string{"2 a,A", "3 b,B"}},
		"a byte order mark":  {"\ufeffid,name\na,A\n", []string{"2 a,A"}},
		"CRLF":               {"id,name\r\na,A\r\n\r\nb,\"B\r\nC\"\r\nc,C\r\n", []string{"2 a,A", "4 b,\"B\nC\"", "6 c,C"}},
		"empty lines":        {"\n\nid,name\n\n,,\na,A\n\"\",\n", []string{"6 a,A"}},
		"line breaks":        {"id,name\na,\"one\ntwo \"\"x\"\"\n\"\nb,B\n", []string{"2 a,\"one\ntwo \"\"x\"\"\n\"", "5 b,B"}},
		"a line break first": {"id,name\n,\"\nA\"\nb,B\n", []string{"2 ,\"\nA\"", "4 b,B"}},
		"quotes in a value":  {"id,name\na,5\" nail\nb,B\n", []string{"2 a,5\" nail", "3 b,B"}},
		"after a value":      {"id,name\na,\"A\"x\nb,B\n", []string{"2 a,\"A\"x", "3 b,B"}},
		"a missing quote":    {"id,name\na,\"A\nb,\"B\"\nc,C\n", []string{"2 a,\"A\nb,\"B\"", "4 c,C"}},
		"a quote to the end": {"id,name\na,\"A\nb,B\nc,C\n", []string{"2 a,\"A\nb,B\nc,C"}},
		"a # in a value":     {"id,name\n#1,A\n", []string{"2 #1,A"}},
		"comments":           {"# \"line 7\n# x\nid,name\na,A\n# \"why\nb,B\n", []string{"4 a,A", "6 b,B"}},
	} {
		read := func(from mark, n int) (got []string, marks []mark) {
			in, err := newCSVInput(strings.NewReader(c.file), from)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if string(in.header) != "id,name" {
				t.Errorf("%s: the header is %q", name, in.header)
			}
			for range n {
				marks = append(marks, in.mark())
				l, err := in.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got = append(got, fmt.Sprintf("%d %s", l.number, l.text))
				if raw := c.file[l.offset : l.offset+l.length]; strings.TrimRight(strings.ReplaceAll(raw, "\r\n", "\n"), "\n") != strings.TrimRight(string(l.text), "\n") {
					t.Errorf("%s: the place of %q has %q", name, l.text, raw)
				}
			}
			return got, marks
		}
		got, marks := read(mark{}, 99)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: the records are %q, want %q", name, got, c.want)
		}
		for i, from := range marks {
			if rest, _ := read(from, 99); len(rest) != len(c.want)-i || len(rest) > 0 && !reflect.DeepEqual(rest, c.want[i:]) {
				t.Errorf("%s: from record %d, the records are %q", name, i, rest)
			}
		}
	}
}

// Files that cannot be read end the import, with what to do.
func TestCSVFaults(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"empty":            {"", "no header"},
		"blank":            {"\n\n", "no header"},
		"UTF-16":           {"\xff\xfei\x00d\x00\n", "UTF-16"},
		"CR alone":         {"id,name\ra,A\rb,B\r", "carriage returns"},
		"a long header":    {strings.Repeat("x", MaxLine+1) + "\n", "the header is longer"},
		"an endless value": {"id,name\na,\"" + strings.Repeat("x\n", MaxLine) + "b,B\n", "line 2 begins does not end"},
	} {
		in, err := newCSVInput(strings.NewReader(c.file), mark{})
		if err == nil {
			_, err = in.next()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	in, err := newCSVInput(strings.NewReader("id,name\na,"+strings.Repeat("x", MaxLine)+"\nb,B\n"), mark{})
	if err != nil {
		t.Fatal(err)
	}
	if long, err := in.next(); err != nil || long.text != nil {
		t.Errorf("a long line: %v, %d bytes", err, len(long.text))
	}
	if next, err := in.next(); err != nil || string(next.text) != "b,B" {
		t.Errorf("after a long line: %v, %q", err, next.text)
	}
	if _, err := newCSVInput(strings.NewReader("id,name\na,A\n"), mark{position: 8, line: 1}); !errors.Is(err, errChanged) {
		t.Errorf("a file that has changed: %v", err)
	}
}

// Values have the types that the schema allows.
func TestCSVObjects(t *testing.T) {
	header := []string{"id", "name", "seats", "price", "open", "code", "labels", "rows", "near", "others", "address.city", "Floor", "unknown.x", " skipped "}
	all, err := newColumns(header, map[string]string{"Floor": "address.place.floor", "skipped": ""}, hallType(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		record string
		want   map[string]any
	}{
		{"7,007,12,1.50,TRUE,5,a;b c,1;2,h,h;i,Oslo,3,u,s", map[string]any{"id": "7", "name": "007", "seats": int64(12), "price": 1.5, "open": true, "code": "5",
			"labels": []any{"a", "b c"}, "rows": []any{int64(1), int64(2)}, "near": "h", "others": []any{"h", "i"},
			"address": map[string]any{"city": "Oslo", "place": map[string]any{"floor": int64(3)}}, "unknown": map[string]any{"x": "u"}}},
		{"a,=1+1,,,,,;; ,,,,,,,", map[string]any{"id": "a", "name": "=1+1"}},
		// What is no number or boolean is left to the schema, which refuses it.
		{`b,B,twelve,"1,5",yes,0x10,"=A;2",1; x,,,,NaN,,`, map[string]any{"id": "b", "name": "B", "seats": "twelve", "price": "1,5", "open": "yes", "code": "0x10",
			"labels": []any{"=A", "2"}, "rows": []any{int64(1), "x"}, "address": map[string]any{"place": map[string]any{"floor": "NaN"}}}},
		{"c,C,1e3, 2 ,false,,,,,,,99999999999999999999,,", map[string]any{"id": "c", "name": "C", "seats": int64(1000), "price": int64(2), "open": false,
			"address": map[string]any{"place": map[string]any{"floor": float64(1e20)}}}},
	} {
		record, fault := fields([]byte(c.record), 2)
		if fault != nil {
			t.Fatal(fault)
		}
		got, fault := all.object(record, 2)
		if fault != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v (%v)", c.record, got, c.want, fault)
		}
	}
	for record, code := range map[string]string{"a,b": "error.csv.fields", strings.Repeat(",", 9999) + "x": "error.csv.fields", `a,"b`: "error.csv.quote", `a,b"c"`: "error.csv.quote", "a,\xff": "error.body.encoding"} {
		values, fault := fields([]byte(record), 2)
		if fault == nil {
			_, fault = all.object(values, 2)
		}
		if fault == nil || fault.Code() != code {
			t.Errorf("%.20q: %v, want %s", record, fault, code)
		}
	}
}

// A header that could not be meant is refused.
func TestCSVHeaders(t *testing.T) {
	hall := hallType(t)
	for _, c := range []struct {
		header string
		mapped map[string]string
		says   string
	}{
		{"id,name,id", nil, `column 3 of the header, "id", has the name of column 1`},
		{"id,Name", map[string]string{"Name": "id"}, `the columns "id" and "Name" are both for the property id`},
		{"address.place,address.place.floor", nil, "is an object"},
		{"near,near.id", nil, `are both for the property near`},
		{"id,,name", nil, `column 2 of the header, "", is not the path of a property`},
		{"id,address..city", nil, "is not the path of a property"},
		{"shows", nil, "has objects as items"},
		{"shows.at", nil, "is a property of the items of shows"},
		{"address", nil, "have a column for each of its properties, such as address.NAME"},
		{"id;name", nil, "separate columns with commas"},
		{"id\tname", nil, "separate columns with commas"},
		{"id", map[string]string{"Nme": "name"}, `--columns names the column "Nme", which the header does not have`},
		{"x" + strings.Repeat(",x", 9999), nil, "has 10000 columns"},
	} {
		_, err := newColumns(strings.Split(c.header, ","), c.mapped, hall)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.30s: %v", c.header, err)
		}
	}
}

// The rejected records of a CSV file are a CSV file, which imports what was corrected; the
// records that wait for others are read again from their places.
func TestImportCSV(t *testing.T) {
	e := newEngine(t)
	folder, _ := e.Registry().Type("folders")
	input := "id,name,Within\r\n" +
		"a,\"A, first\",c\r\n" + // waits
		"b,\"B\r\nwith a line break\",a\r\n" + // waits
		"#x,,\r\n" +
		"c,\"C\"\r\n" +
		"d,\"D\"\"\",\r\n" +
		"e,E,nowhere\r\n" +
		"f,F\"quote,\r\n" +
		",G,\r\n" +
		"c,C,\r\n"
	path, report := filepath.Join(t.TempDir(), "input.csv"), filepath.Join(t.TempDir(), "report.csv")
	if err := os.WriteFile(path, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	im := Import{Target: Local{Engine: e}, Input: opened(t, path), CSV: true, Columns: map[string]string{"Within": "in"}, Type: folder, Context: "main", Chunk: 2,
		Report: report, Progress: path + ".progress"}
	if s := run(t, im); s.Rejected != 4 || s.Created != 5 {
		t.Errorf("the import has %+v", s)
	}
	found, err := Local{Engine: e}.Stored(t.Context(), []ObjectID{{"folders", "main", "a"}, {"folders", "main", "b"}, {"folders", "main", "d"}, {"folders", "main", "e"}})
	if err != nil || len(found) != 3 {
		t.Errorf("stored are %v (%v)", found, err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# line 5: ", "\nid,name,Within\n", "\n\"#x\",,\n", "\nc,\"C\"\n", "\nf,F\"quote,\n", "\ne,E,nowhere\n"} {
		if strings.Count(string(text), want) != 1 {
			t.Errorf("the report does not have %q once:\n%s", want, text)
		}
	}
	corrected := strings.NewReplacer(`"#x",,`, `"#x",X,`, `c,"C"`+"\n", "h,H,\n", `F"quote`, "F", "nowhere", "a").Replace(string(text))
	if err := os.WriteFile(report, []byte(corrected), 0o600); err != nil {
		t.Fatal(err)
	}
	im.Input, im.Report, im.Progress = opened(t, report), "", ""
	if s := run(t, im); s.Rejected != 0 || s.Created != 4 {
		t.Errorf("the corrected report has %+v", s)
	}
}
