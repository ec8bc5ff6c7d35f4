package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/engine/document"
	"marquee/integration/marqueetest"
)

func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func setting(t *testing.T, name string, preset uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return preset
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(name, err)
	}
	return n
}

// targetSchema is the schema of what references lead to.
const targetSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Target", "properties": {"name": {"type": "string"}}, "required": ["name"], "x-resource": {"path": "targets", "search": ["name"]}}`

// TestForms: for random schemas of the vocabulary, random objects are entered through the form, by
// role and label, and are stored as they are; and a random change sends that change and nothing else.
// MARQUEE_FORMS sets the number of schemas, and MARQUEE_SEED another seed.
func TestForms(t *testing.T) {
	seed, n := setting(t, "MARQUEE_SEED", rand.Uint64N(1_000_000)), setting(t, "MARQUEE_FORMS", 10)
	t.Logf("MARQUEE_SEED=%d", seed)
	r := &randomForm{Rand: rand.New(rand.NewPCG(seed, 29))}
	files := fstest.MapFS{"targets.json": {Data: []byte(targetSchema)}}
	types := map[string][]field{}
	for i := range n {
		path := "type" + string(rune('a'+i%26)) + strings.Repeat("x", int(i/26))
		schema, fields := r.typeOf(path)
		types[path] = fields
		files[path+".json"] = &fstest.MapFile{Data: []byte(jsonText(schema))}
	}
	c := onConsole(t, marquee.Options{Schemas: files})
	makeTargets(c.s)
	c.show("/list/targets")
	for _, path := range slices.Sorted(maps.Keys(types)) {
		fields := types[path]
		t.Run(path, func(t *testing.T) {
			x := newScreen(t, c.ctx, c.s)
			x.randomObject(r, path, fields)
			if t.Failed() {
				screenshot(t, c.ctx, "form-"+path+".png")
				t.Logf("the schema: %s", files[path+".json"].Data)
			}
		})
	}
}

func makeTargets(s *marqueetest.Server) {
	var objects []any
	for i := range targets {
		id := fmt.Sprintf("target-%d", i)
		objects = append(objects, map[string]any{"id": id, "name": nameOfTarget(id)})
	}
	s.Do("POST", "/api/v1/targets?context="+marqueetest.Network, jsonText(objects), 200)
}

func (x *screen) randomObject(r *randomForm, path string, fields []field) {
	x.t.Helper()
	x.visit("/new/" + path)
	object := map[string]any{}
	for _, f := range fields {
		object[f.name] = f.sort.make()
		x.t.Logf("%s, %s: %s", f.name, f.sort.name, jsonText(object[f.name]))
	}
	form := x.node(0, "New: Type "+path, "form")
	enterFields(x, form, fields, object)
	x.press(form, "Create")
	id := x.created(path)
	api := "/api/v1/" + path + "/" + id + "?context=" + marqueetest.Network
	x.expectObject(api, object)

	// One field is given another value, in the form of the object.
	f := fields[r.IntN(len(fields)-3)]
	for f.sort.name == "box" || f.sort.name == "set" || f.sort.name == "array" || f.sort.name == "map" || f.sort.name == "object" {
		f = fields[r.IntN(len(fields)-3)]
	}
	value := f.sort.make()
	for reflect.DeepEqual(value, object[f.name]) {
		value = f.sort.make()
	}
	evaluate[string](x.t, x.ctx, `sent.length = 0; ""`)
	form = x.node(0, object["name"].(string), "form")
	f.sort.enter(x, form, inWords(f.name), value)
	x.press(form, "Save")
	x.says("Saved.")
	sent := x.sent()
	if len(sent) != 1 || sent[0].Headers["If-Match"] == "" || sent[0].Headers["Idempotency-Key"] == "" {
		x.t.Fatalf("the change of %s was sent as %v", f.name, sent)
	}
	body, err := document.DecodeObject([]byte(sent[0].Body), document.Limits{})
	if err != nil {
		x.t.Fatal(err)
	}
	before := object[f.name]
	object[f.name] = value
	x.expectObject(api, object)
	if merged := mergePatch(map[string]any{f.name: before}, body); len(body) != 1 || !reflect.DeepEqual(merged[f.name], value) {
		x.t.Errorf("the change of %s from %s to %s was sent as %s", f.name, jsonText(before), jsonText(value), sent[0].Body)
	}
}

// mergePatch applies a merge patch (RFC 7396), whose values replace all others than objects.
func mergePatch(object, patch map[string]any) map[string]any {
	for name, value := range patch {
		inner, is := value.(map[string]any)
		before, was := object[name].(map[string]any)
		switch {
		case value == nil:
			delete(object, name)
		case is && was:
			object[name] = mergePatch(before, inner)
		default:
			object[name] = value
		}
	}
	return object
}

// created waits for the page of the object that the form has created.
func (x *screen) created(path string) string {
	x.t.Helper()
	x.await(fmt.Sprintf(`location.pathname.includes("/object/%s/") || !!document.querySelector("[role=alert]")`, path))
	if faults := evaluate[string](x.t, x.ctx, `[...document.querySelectorAll("[role=alert]")].map(e => e.innerText).join("\n")`); faults != "" {
		x.t.Fatalf("%s\n%v", faults, x.sent())
	}
	at := evaluate[string](x.t, x.ctx, "location.pathname")
	return at[strings.LastIndexByte(at, '/')+1:]
}

// expectObject compares an object with what was entered; references are compared by their ids.
func (x *screen) expectObject(path string, want map[string]any) {
	x.t.Helper()
	got := x.s.Do("GET", path, "", 200)
	for name, value := range want {
		if stored := idsOf(got[name]); !reflect.DeepEqual(stored, value) {
			x.t.Errorf("%s is %s, want %s", name, jsonText(stored), jsonText(value))
		}
	}
}

func idsOf(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = idsOf(v[i])
		}
	case map[string]any:
		if url, is := v["url"].(string); is && strings.HasPrefix(url, "/api/v1/targets/") {
			return v["id"]
		}
		for name := range v {
			v[name] = idsOf(v[name])
		}
	}
	return value
}
