package browser

import (
	"net/url"
	"slices"
)

// typeSort makes objects of a type.
type typeSort struct {
	*objectSort
	path string
	// resource is the x-resource of the type, and label the property that names objects, "" if their ids do.
	resource M
	label    string
}

func named(name string, s sort) field { return field{name: name, label: inWords(name), sort: s} }

// typeOf is a type, and its objects.
func (r *randomForm) typeOf(path string) *typeSort {
	r.defs = M{}
	t := &typeSort{objectSort: &objectSort{r: r, schema: M{"type": "object"}}, path: path}
	text := named([]string{"name", r.name()}[r.IntN(2)], plain("name", M{"type": "string", "maxLength": 100}, func() any { return r.text() }))
	text.needed = true
	t.add(part{fields: append(r.resource(t, text.name), text)}, t.schema)
	t.add(part{fields: []field{t.property(0, false), t.property(0, false), t.property(3, false), t.property(3, true)}}, t.schema)
	two := []int{r.deal("constructs of types", len(constructs)), r.deal("constructs of types", len(constructs))}
	slices.Sort(two)
	for _, i := range slices.Compact(two) {
		constructs[i](t.objectSort, 2)
	}
	t.add(part{fields: r.ruled(t.objectSort, text.name)}, t.schema)
	t.schema["$schema"], t.schema["title"], t.schema["$defs"] = "https://json-schema.org/draft/2020-12/schema", "Type "+path, r.defs
	t.schema["x-resource"] = t.resource
	t.schema["x-validations"] = []any{M{"rule": "self." + text.name + " != 'never'", "code": "error.random.never", "text": "Never.", "field": "/" + text.name}}
	t.schema["x-warnings"] = []any{M{"code": "warning.random", "text": "Beware.", "when": M{"properties": M{text.name: M{"minLength": 1}}}, "field": "/" + text.name}}
	return t
}

// resource makes the x-resource of a type which has a property with a text, and returns the properties that it needs.
func (r *randomForm) resource(t *typeSort, text string) (fields []field) {
	t.resource = M{"path": t.path}
	if text == "name" {
		t.label = text
	} else if r.deal("labels", 2) == 0 {
		t.label, t.resource["label"] = text, text
	}
	r.global = false
	switch r.deal("resources", 4) {
	case 0:
		t.resource["public"] = M{"when": M{"properties": M{text: M{"minLength": 2}}}}
	case 1:
		t.resource["scope"], r.global = "global", true
	case 2:
		above := named("above", r.reference("targets", r.target).with(M{"x-immutable": true}))
		above.needed, above.once = true, true
		t.resource["parent"] = above.name
		fields = append(fields, above)
	case 3:
		t.resource["owner"], t.resource["team"] = "keeper", []any{"crew"}
		fields = append(fields, named("keeper", r.referenceTo("users", keeper, keeper)), named("crew", r.referenceTo("teams", crew, nameOfCrew)))
	}
	switch r.deal("ids", 3) {
	case 0:
		t.resource["id"] = "required"
	case 1:
		t.resource["idProperty"] = "thingId"
	}
	switch r.deal("methods", 6) {
	case 0:
		t.resource["methods"] = []any{"GET", "HEAD", "POST"}
	case 1:
		t.resource["methods"] = []any{"GET", "HEAD", "POST", "PUT", "DELETE"}
	}
	switch r.deal("permissions", 3) {
	case 0:
		t.resource["permission"] = "WRITE_THINGS"
	case 1:
		t.resource["permissions"] = M{"read": "READ_THINGS", "write": "WRITE_THINGS", "create": "MAKE_THINGS"}
	}
	if r.deal("lists", 2) == 0 {
		t.resource["search"], t.resource["sort"], t.resource["columns"] = []any{text}, []any{text}, []any{text, "updateTime"}
		t.resource["index"], t.resource["page"], t.resource["group"] = []any{[]any{text, "createTime"}}, false, "Things <b>"
	}
	if r.deal("unique", 2) == 0 {
		fields = append(fields, named("handle", plain("handle", M{"type": "string"}, func() any { return r.name() })))
		t.resource["unique"], t.resource["uniqueForm"] = []any{"handle", []any{"handle", text}}, M{"handle": "UsernameCaseMapped"}
	}
	if r.deal("paths", 2) == 0 {
		t.resource["was"], t.resource["paths"] = "former"+t.path, []any{"fixed"}
	}
	return fields
}

// enterID enters an id, and returns it, or returns "" where it leaves that to the console or to the service.
func (t *typeSort) enterID(x *screen, form within) string {
	label, another := t.resource["idProperty"].(string)
	if !another {
		label = "id"
	}
	if t.resource["id"] != "required" && t.r.IntN(2) == 0 {
		return ""
	}
	id := t.r.name() + of(t.r, "", "/b c", "?d=1&e", "#%2F", "ü")().(string)
	x.write(x.node(form, label, "textbox"), id)
	return id
}

// expectedIDs are those of an object that was created with an id that was entered, or "".
func (t *typeSort) expectedIDs(object M, entered string, created []string) []string {
	want := slices.Clone(created[max(len(created)-1, 0):])
	if entered != "" {
		want = []string{entered}
	}
	if parent, below := t.resource["parent"].(string); below {
		want = append([]string{object[parent].(string)}, want...)
	}
	return want
}

// pathBelow is that of an object in the API.
func (t *typeSort) pathBelow(ids []string) string {
	path := "/api/v1/" + t.path
	for _, id := range ids {
		path += "/" + url.PathEscape(id)
	}
	return path
}

// fixed reports whether objects cannot be changed.
func (t *typeSort) fixed() bool {
	methods, some := t.resource["methods"].([]any)
	return some && !slices.Contains(methods, any("PUT"))
}

// ruled are the fields that only types have, and the rules of types about them.
func (r *randomForm) ruled(o *objectSort, name string) []field {
	date := func(years int) func() any {
		return func() any { return r.at().AddDate(years, 0, 0).Format("2006-01-02") }
	}
	text := func() any { return r.word() }
	supplied := func(f field) field { f.supplied, f.fixed = true, f.sort.schema["readOnly"] == true; return f }
	switch r.dealThat("rules", 6, func(card int) bool { return card < 5 || o.entries == nil }) {
	case 0:
		o.schema["x-frozen"] = M{"when": M{"properties": M{"state": M{"const": "LOST"}}, "required": []any{"state"}}, "code": "error.random.lost", "text": "{{field}} is lost.", "except": []any{name}}
		state := named("state", sort{name: "state", schema: M{"type": "string", "enum": []any{"NEW", "DONE", "LOST"}, "x-initial": []any{"NEW"},
			"x-transitions": M{"NEW": []any{"DONE", M{"to": "LOST", "permission": "LOSE_THINGS"}}}, "default": "NEW"}, preset: "NEW",
			make: of(r, "NEW"), enter: chosen,
			change: func(x *screen, in within, label string, value any) any {
				if value == "DONE" {
					return value
				}
				chosen(x, in, label, "DONE")
				return "DONE"
			}})
		return []field{state, supplied(named("number", sort{name: "number", schema: M{"type": "integer", "x-sequence": M{"start": 7}, "readOnly": true}}))}
	case 1:
		o.schema["x-compare"] = []any{M{"left": "low", "op": "<=", "right": "high"}}
		number := func(from int) sort {
			return plain("number", M{"type": "integer"}, func() any { return int64(from + r.IntN(50)) })
		}
		return []field{named("low", number(0)), named("high", number(50))}
	case 2:
		o.schema["x-exclusive"] = []any{M{"properties": []any{"hall"}, "from": "begin", "to": "end"}}
		return []field{named("hall", plain("text", M{"type": "string"}, text)), named("begin", r.formatted("date")), named("end", sort{name: "date", schema: M{"type": "string", "format": "date"}, make: date(20), enter: timed("")})}
	case 3:
		fixed := plain("text", M{"type": "string", "x-immutable": true}, text)
		serial := named("serial", fixed)
		serial.once = true
		return []field{serial, supplied(named("token", sort{name: "uuid", schema: M{"type": "string", "x-default": "uuid"}}))}
	case 4:
		derived := named("derived", sort{name: "derived", schema: M{"type": "string", "x-derived": true}})
		derived.fixed = true
		return []field{derived, supplied(named("made", sort{name: "now", schema: M{"type": "string", "format": "date-time", "x-default": "now", "readOnly": true}}))}
	}
	return []field{named("diagnosis", plain("text", M{"type": "string", "x-readable": "READ_DIAGNOSES", "x-was": "finding"}, text))}
}
