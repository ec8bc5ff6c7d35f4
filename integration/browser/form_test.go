package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	web "marquee/console"
	"marquee/engine"
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
const targetSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Target", "required": ["name"], "x-resource": {"path": "targets", "search": ["name"]},
	"properties": {"name": {"type": "string"}, "kind": {"type": "string", "enum": ["FIRST", "THIRD"], "x-immutable": true}}}`

// thingSchema is that of others, which are searched for by another name than name, and not by words.
const thingSchema = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "title": "Thing", "required": ["title"], "x-resource": {"path": "things", "id": "required", "label": "title"},
	"properties": {"title": {"type": "string"}}}`

// TestForms: for random schemas of the vocabulary, random objects are entered through the form, by
// role and label, and are stored as they are; and a random change sends that change and nothing else.
// MARQUEE_FORMS sets the number of schemas, and MARQUEE_SEED the seed. Without them, all runs have the
// same schemas; those of each 'make nightly' are others.
func TestForms(t *testing.T) {
	number, first := uint64(100), uint64(3)
	if testing.Short() {
		number = 10
	}
	if os.Getenv("MARQUEE_FORMS") != "" {
		first = rand.Uint64N(1_000_000)
	}
	seed, n := setting(t, "MARQUEE_SEED", first), setting(t, "MARQUEE_FORMS", number)
	t.Logf("MARQUEE_SEED=%d", seed)
	r := newRandomForm(seed)
	files, types := r.types(n)
	c := onConsole(t, marquee.Options{Schemas: files, Application: application()})
	makeTargets(c.s)
	c.show("/list/targets")
	for i, o := range types {
		t.Run(o.path, func(t *testing.T) {
			r.Rand = rand.New(rand.NewPCG(seed, uint64(i))) // so that it can be run alone
			x := newScreen(t, c.ctx, c.s)
			x.together = true
			x.randomObject(o)
			if t.Failed() {
				screenshot(t, c.ctx, "form-"+o.path+".png")
				t.Logf("the schema: %s", files[o.path+".json"].Data)
			}
		})
	}
}

// types are random ones, with those that references lead to.
func (r *randomForm) types(n uint64) (fstest.MapFS, []*typeSort) {
	files := fstest.MapFS{"targets.json": {Data: []byte(targetSchema)}, "things.json": {Data: []byte(thingSchema)}}
	var types []*typeSort
	for i := range n {
		t := r.typeOf(fmt.Sprintf("type%d", i))
		types, files[t.path+".json"] = append(types, t), &fstest.MapFile{Data: []byte(jsonText(t.schema))}
	}
	return files, types
}

// application has the list that x-lookup names, and the search for it.
func application() marquee.Application {
	return marquee.Application{
		Lookups: map[string]func(id int64) ([]engine.Member, bool){"locations": func(id int64) ([]engine.Member, bool) {
			return []engine.Member{{Name: "name", Text: nameOfPlace(id)}}, 0 < id && id <= places
		}},
		Console: web.Module{Files: fstest.MapFS{"module.js": {Data: fmt.Appendf(nil, placesModule, places)}}},
	}
}

func makeTargets(s *marqueetest.Server) {
	s.Do("PUT", "/api/v1/networks/"+otherNetwork, `{"name": "`+nameOfOther+`"}`, 201)
	s.Do("PUT", "/api/v1/users/"+keeper, `{"username": "`+keeper+`"}`, 201)
	s.Do("PUT", "/api/v1/teams/"+crew+"?context="+marqueetest.Network, `{"name": "`+nameOfCrew+`"}`, 201)
	var objects []any
	for i := range targets {
		id := fmt.Sprintf("target-%d", i)
		objects = append(objects, map[string]any{"id": id, "name": nameOfTarget(id), "kind": map[bool]string{true: "THIRD", false: "FIRST"}[i%3 == 0]})
	}
	for _, network := range []string{marqueetest.Network, otherNetwork} {
		s.Do("POST", "/api/v1/targets?context="+network, jsonText(objects), 200)
	}
	objects = nil
	for i := range things {
		objects = append(objects, map[string]any{"id": idOfThing(i), "title": nameOfThing(idOfThing(i))})
	}
	s.Do("POST", "/api/v1/things?context="+marqueetest.Network, jsonText(objects), 200)
}

func (x *screen) randomObject(o *typeSort) {
	x.t.Helper()
	x.visit("/new/" + o.path)
	object := o.make()
	x.t.Log(jsonText(object))
	form := x.node(0, "New: Type "+o.path, "form")
	entered := o.enterID(x, form)
	o.choose(x, form, "Type "+o.path, object)
	o.enterIn(x, form, object)
	x.press(form, "Create")
	ids := x.created(o.path)
	if sent := x.body(); !reflect.DeepEqual(sent, object) {
		x.t.Errorf("%s was sent as %s", jsonText(object), jsonText(sent))
	}
	if want := o.expectedIDs(object, entered, ids); !slices.Equal(ids, want) {
		x.t.Errorf("the object has the ids %q, not %q", ids, want)
	}
	api := o.pathBelow(ids) + "?context=" + marqueetest.Network
	x.expectStored(api, o, object)

	name, titled := object[o.label].(string)
	if !titled {
		name = ids[len(ids)-1]
	}
	form = x.node(0, strings.ReplaceAll(name, "\u202e", "⟨U+202E⟩"), "form")
	x.settle()
	if entries := evaluate[int](x.t, x.ctx, `document.querySelectorAll("main form > .fields > .entries > .item").length`); o.entries != nil && entries != len(o.members(object)) {
		x.t.Errorf("%d entries are shown, and not those of %q", entries, o.members(object))
	}
	if o.fixed() {
		if len(x.nodes(form, "Save", "button")) > 0 {
			x.t.Error("an object that cannot be changed can be saved")
		}
		return
	}
	evaluate[string](x.t, x.ctx, `sent.length = 0; ""`)
	after := o.changeIn(x, form, form, "Type "+o.path, object)
	if x.t.Log("the object becomes", jsonText(after)); reflect.DeepEqual(object, after) {
		return
	}
	x.press(form, "Save")
	x.says("Saved.")
	body := x.body()
	if sent := x.sent(); sent[0].Headers["If-Match"] == "" {
		x.t.Errorf("the change was sent as %v", sent)
	}
	// Items of arrays are sent with the defaults that the service has added to them.
	if want := changeOf(object, after); !reflect.DeepEqual(body, want) && !reflect.DeepEqual(o.storedAs(o.readAs(body)), o.storedAs(want)) {
		x.t.Errorf("the change was sent as %s, not as %s", jsonText(body), jsonText(want))
	}
	x.expectStored(api, o, after)
}

// body returns that of the only request that was sent.
func (x *screen) body() map[string]any {
	x.t.Helper()
	sent := x.sent()
	if len(sent) != 1 {
		x.t.Fatalf("sent %v", sent)
	}
	body, err := document.DecodeObject([]byte(sent[0].Body), document.Limits{})
	if err != nil {
		x.t.Fatal(err)
	}
	return body
}

// changeOf returns what must be sent to make one object of another: a merge patch (RFC 7396), or the whole
// properties if a member becomes null, which a patch would remove.
func changeOf(before, after map[string]any) map[string]any {
	patch, whole := difference(before, after)
	if whole {
		for name := range patch {
			patch[name] = after[name]
		}
	}
	return patch
}

func difference(before, after map[string]any) (patch map[string]any, whole bool) {
	patch = map[string]any{}
	for name, value := range after {
		was, there := before[name]
		if there && reflect.DeepEqual(was, value) {
			continue
		}
		object, is := value.(map[string]any)
		former, had := was.(map[string]any)
		if is && had {
			inner, all := difference(former, object)
			patch[name], whole = inner, whole || all
			continue
		}
		patch[name], whole = value, whole || hasNull(value)
	}
	for name := range before {
		if _, kept := after[name]; !kept {
			patch[name] = nil
		}
	}
	return patch, whole
}

// hasNull reports whether a value, or a member of it, is null.
func hasNull(value any) bool {
	object, is := value.(map[string]any)
	return value == nil || is && slices.ContainsFunc(slices.Collect(maps.Values(object)), hasNull)
}

// created waits for the page of the object that the form has created, and returns its id, behind that of its parent.
func (x *screen) created(path string) (ids []string) {
	x.t.Helper()
	x.await(fmt.Sprintf(`location.pathname.includes("/object/%s/") || !!document.querySelector("[role=alert]")`, path))
	if faults := evaluate[string](x.t, x.ctx, `[...document.querySelectorAll("[role=alert]")].map(e => e.innerText).join("\n")`); faults != "" {
		x.t.Fatalf("%s\n%v", faults, x.sent())
	}
	_, at, _ := strings.Cut(evaluate[string](x.t, x.ctx, "location.pathname"), "/object/"+path+"/")
	for _, part := range strings.Split(at, "/") {
		id, err := url.PathUnescape(part)
		if err != nil {
			x.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// expectStored compares an object of a type with what was entered. The service adds nothing but what the
// schema says, and the common fields.
func (x *screen) expectStored(path string, o *typeSort, entered map[string]any) {
	x.t.Helper()
	got := x.s.Do("GET", path, "", 200)
	for _, p := range o.parts {
		for _, f := range p.fields {
			if f.supplied && got[f.name] == nil {
				x.t.Errorf("%s has no value", f.name)
			}
		}
	}
	if another, is := o.resource["idProperty"].(string); is && got[another] != got["id"] {
		x.t.Errorf("the other name of the id %v has %v", got["id"], got[another])
	}
	for _, name := range []string{"id", "thingId", "objectState", "createTime", "createUser", "updateTime", "updateUser", "network", "url", "validationWarnings"} {
		delete(got, name)
	}
	if want := o.storedAs(entered); !reflect.DeepEqual(o.readAs(got), want) {
		x.t.Errorf("stored as %s, want %s", jsonText(o.readAs(got)), jsonText(want))
	}
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
