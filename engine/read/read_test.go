package read_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"marquee"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// hospital has beds that refer to wards, and wards that keep a secret.
var hospital = fstest.MapFS{
	"wards.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Ward",
		"x-resource": {"path": "wards"},
		"type": "object",
		"properties": {"name": {"type": "string"}, "key": {"type": "string", "x-secret": true}}
	}`)},
	"beds.json": {Data: []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "Bed",
		"x-resource": {"path": "beds", "sort": ["name"], "index": ["ward"]},
		"type": "object",
		"properties": {"name": {"type": "string"}, "ward": {"x-ref": "wards"}}
	}`)},
}

var administrator = &engine.Caller{System: true}

// An object is shown with its system properties, and references with the names of the
// objects that they refer to.
func TestGet(t *testing.T) {
	e := open(t)
	bed := e.get(t, "beds", "a")
	ward, _ := bed["ward"].(map[string]any)
	if bed["id"] != "a" || bed["name"] != "A" || bed["objectState"] != "ACTIVE" || bed["url"] == "" || ward["id"] != "north" || ward["name"] != "North" {
		t.Errorf("the bed is %v", bed)
	}
	if ward := e.get(t, "wards", "north"); ward["name"] != "North" {
		t.Errorf("the ward is %v", ward)
	}
	beds := e.typeOf(t, "beds")
	if _, err := e.Engine().Get(t.Context(), administrator, beds, "house", "missing", nil); !message.ObjectNotFound.Is(err) {
		t.Errorf("a bed that does not exist: %v", err)
	}
	if _, err := e.Engine().Get(t.Context(), administrator, beds, "other", "a", nil); !message.ObjectNotFound.Is(err) {
		t.Errorf("a bed of another network: %v", err)
	}
}

// The entity tag changes with the object, with the names that it shows, and with nothing
// else.
func TestETag(t *testing.T) {
	e := open(t)
	beds := e.typeOf(t, "beds")
	tag := func() string {
		t.Helper()
		bed, err := e.Engine().Get(t.Context(), administrator, beds, "house", "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		return bed.ETag()
	}
	first := tag()
	e.write(t, "beds", map[string]any{"id": "b", "name": "Other"})
	if tag() != first {
		t.Error("the change of another bed changes the tag")
	}
	e.write(t, "wards", map[string]any{"id": "north", "name": "Renamed"})
	renamed := tag()
	if renamed == first {
		t.Error("the new name of the ward does not change the tag")
	}
	e.write(t, "beds", map[string]any{"id": "a", "name": "Changed"})
	if tag() == renamed {
		t.Error("a change does not change the tag")
	}
}

func TestList(t *testing.T) {
	e := open(t)
	for name, c := range map[string]struct {
		parameters string
		want       []string
		total      any
	}{
		"sorted":      {"orderBy=name", []string{"a", "b", "c"}, 3.0},
		"backwards":   {"orderBy=name&orderByDirection=DESCENDING", []string{"c", "b", "a"}, 3.0},
		"a page":      {"orderBy=name&pageSize=2&page=1", []string{"c"}, 3.0},
		"filtered":    {"orderBy=name&where=" + url.QueryEscape("ward=north"), []string{"a", "b"}, 2.0},
		"not counted": {"orderBy=name&count=false", []string{"a", "b", "c"}, nil},
		"nothing":     {"where=" + url.QueryEscape("name=none"), []string{}, 0.0},
	} {
		t.Run(name, func(t *testing.T) {
			ids, page := e.list(t, c.parameters)
			if !slices.Equal(ids, c.want) || page["totalCount"] != c.total {
				t.Errorf("%v of %v, want %v of %v", ids, page["totalCount"], c.want, c.total)
			}
		})
	}
}

// Pages that follow each other by cursors have each object once, although others are
// written between them.
func TestCursors(t *testing.T) {
	e := open(t)
	var found []string
	for next := "orderBy=name&pageSize=1"; next != ""; {
		ids, page := e.list(t, next)
		found = append(found, ids...)
		e.write(t, "beds", map[string]any{"id": "before-" + ids[0], "name": "0"})
		if cursor, _ := page["nextCursor"].(string); cursor != "" {
			next = "orderBy=name&pageSize=1&cursor=" + url.QueryEscape(cursor)
		} else {
			next = ""
		}
	}
	if !slices.Equal(found, []string{"a", "b", "c"}) {
		t.Errorf("the pages have %v", found)
	}
}

// The history has what each change altered, the newest first, and no secrets.
func TestHistory(t *testing.T) {
	e := open(t)
	e.write(t, "wards", map[string]any{"id": "north", "name": "Renamed", "key": "a new secret"})
	page, err := e.Engine().History(t.Context(), administrator, engine.HistoryPage{Network: "house", Type: e.typeOf(t, "wards"), ID: "north", Paging: query.Paging{PageSize: 10}})
	if err != nil {
		t.Fatal(err)
	}
	text := body(page)
	if strings.Contains(text, "secret") {
		t.Errorf("the history has a secret: %s", text)
	}
	renamed, created := strings.Index(text, `"to":"Renamed"`), strings.Index(text, `"to":"North"`)
	if renamed < 0 || created < renamed {
		t.Errorf("the history is %s", text)
	}
}

// hospitalEngine serves the hospital, on a store of its own.
type hospitalEngine struct{ *marquee.Server }

func (e hospitalEngine) typeOf(t *testing.T, name string) *schema.Type {
	t.Helper()
	found, err := e.Engine().Type(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (e hospitalEngine) get(t *testing.T, name, id string) map[string]any {
	t.Helper()
	object, err := e.Read(t.Context(), "house", name, id)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func (e hospitalEngine) write(t *testing.T, name string, objects ...map[string]any) {
	t.Helper()
	if _, err := e.Write(t.Context(), "house", name, objects...); err != nil {
		t.Fatal(err)
	}
}

// list returns the ids of a page of beds, and the page.
func (e hospitalEngine) list(t *testing.T, parameters string) (ids []string, page map[string]any) {
	t.Helper()
	values, err := url.ParseQuery(parameters)
	if err != nil {
		t.Fatal(err)
	}
	single := map[string]string{}
	for name := range values {
		single[name] = values.Get(name)
	}
	beds := e.typeOf(t, "beds")
	l, err := query.ParseList(single, e.Engine().Fields(beds), "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := e.Engine().List(t.Context(), administrator, beds, "house", engine.Listing{List: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(body(rendered)), &page); err != nil {
		t.Fatal(err)
	}
	ids = []string{}
	for _, result := range page["results"].([]any) {
		ids = append(ids, result.(map[string]any)["id"].(string))
	}
	return ids, page
}

func body(page engine.Page) string { return string(bytes.Join(page.Body, nil)) }

func open(t *testing.T) hospitalEngine {
	t.Helper()
	server, err := marquee.New(marquee.Options{Folder: t.TempDir(), Schemas: hospital, First: marquee.First{Network: "house", Password: "correct horse battery"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	e := hospitalEngine{server}
	e.write(t, "wards", map[string]any{"id": "north", "name": "North", "key": "a secret"}, map[string]any{"id": "south", "name": "South"})
	e.write(t, "beds", map[string]any{"id": "a", "name": "A", "ward": "north"}, map[string]any{"id": "b", "name": "B", "ward": "north"},
		map[string]any{"id": "c", "name": "C", "ward": "south"})
	return e
}
