package reload

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"marquee/engine/schema"
	"marquee/engine/schema/diff"
	"marquee/integration/service"
)

// TestPredicted: a set is refused because of stored values if and only if a difference says so.
func TestPredicted(t *testing.T) { service.EachStore(t, testPredicted) }

func testPredicted(t *testing.T, fresh service.NewStore) {
	properties := map[string]string{
		"name": `{"type": "string"}`, "ref": `{"x-ref": "teams"}`, "note": `{"type": "string"}`, "size": `{"type": "number"}`, "count": `{"type": "integer"}`,
		"pin": `{"type": "string", "x-secret": true}`, "kind": `{"type": ["string", "number"]}`, "begin": `{"type": "number"}`, "end": `{"type": "number"}`,
	}
	const overlapping = `{"type": "number"}}, "x-exclusive": [{"properties": ["name"], "from": "begin", "to": "end"}], "$defs": {"none": {}`
	uniqueWhen := func(notes string) string {
		return `, "unique": [{"properties": ["name"], "when": {"properties": {"note": {"enum": [` + notes + `]}}, "required": ["note"]}}]`
	}
	s := service.NewPlain(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/teams/main?context=main", `{"name": "Main"}`, http.StatusCreated)
	for i, c := range []struct{ former, resource, property, schema, refused string }{
		{resource: `, "unique": ["name"]`, refused: "name cannot be unique"},
		{resource: `, "unique": [{"properties": ["title", "note"]}]`, property: "name", schema: `{"type": "string", "x-was": "name"}`, refused: "title and note cannot be unique"},
		{resource: `, "unique": ["size"]`, refused: "size cannot be unique"},
		{former: uniqueWhen(`"other"`), resource: uniqueWhen(`"other", "same"`), refused: "name cannot be unique"},
		{former: uniqueWhen(`"other", "none"`), resource: uniqueWhen(`"other"`)},
		{property: "end", schema: overlapping, refused: "cannot be exclusive"},
		{property: "ref", schema: `{"x-ref": "users"}`, refused: "that would be read as one of users"},
		{property: "note", schema: `{"type": "string", "x-ref": "teams"}`, refused: "no such object of teams"},
		{property: "count", schema: `{"type": "integer", "x-sequence": {}}`, refused: "count cannot be unique"},
		{property: "pin", schema: `{"type": "string"}`, refused: "would become readable"},
		{property: "kind", schema: `{"type": "string"}`, refused: "stored values are of other types (number)"},
		{property: "kind", schema: `{"type": ["string", "integer"]}`},
		{property: "size", schema: `{"type": "integer"}`},
		{property: "note", schema: `{"type": "string", "maxLength": 1}`},
		{property: "note", schema: `{"type": "string", "x-secret": true}`},
		{property: "pin", schema: `{"type": "string", "x-secret": false}`},
	} {
		path := "stalls" + string(rune('a'+i))
		set := func(resource, changed, other string) *schema.Registry {
			var all []string
			for name, value := range properties {
				if name == changed {
					if value = other; strings.Contains(other, "x-was") {
						name = "title"
					}
					all = append(all, `"`+name+`": `+value) // at the end
					continue
				}
				all = slices.Insert(all, 0, `"`+name+`": `+value)
			}
			registry, err := s.Load(service.TypeWith(path, resource, strings.Join(all, ", ")))
			if err != nil {
				t.Fatal(err)
			}
			return registry
		}
		before, after := set(c.former, "", ""), set(c.resource, c.property, c.schema)
		if err := s.Engine.Migrate(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		const values = `"name": "same", "ref": "main", "note": "same", "size": 1.5, "count": 1, "pin": "1234", "begin": 1, "end": 3`
		s.Must(token, http.MethodPost, "/api/v1/"+path+"?context=main", `[{`+values+`, "kind": 1.5}, {`+values+`, "kind": "x"}]`, http.StatusOK)

		says := slices.ContainsFunc(diff.Sets(before, after), func(d diff.Difference) bool { return strings.Contains(d.Text, "the set is refused") })
		var problems schema.Problems
		switch err := s.Engine.Migrate(t.Context(), after); {
		case says != (c.refused != ""):
			t.Errorf("%+v: the differences say otherwise: %v", c, diff.Sets(before, after))
		case c.refused == "" && err != nil, c.refused != "" && (!errors.As(err, &problems) || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}
