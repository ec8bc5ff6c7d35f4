package integration

import (
	"fmt"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestEveryPropertyCanBeAskedFor: each declared property and common field of
// each built-in type can be filtered on, in lists that are counted; those that
// cannot are refused with 400.
func TestEveryPropertyCanBeAskedFor(t *testing.T) {
	service.EachStore(t, testEveryPropertyCanBeAskedFor)
}

func testEveryPropertyCanBeAskedFor(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [{"type": "layouts", "object": {"id": "l", "name": "L", "html": "<p></p>"}},
		{"type": "creatives", "object": {"id": "c", "name": "C", "layout": "l", "dimensionType": "FLEXIBLE", "verifiedSafe": true}}]}`, 200, "")
	s := readProperties(t)
	asked := 0
	for _, kind := range typeFiles(t) {
		list := "/api/v1/" + kind
		if kind == "assets" {
			list += "/c"
		}
		ask := func(path string, can bool) {
			t.Helper()
			status, pattern := 200, `{"totalCount": "<number>"}`
			if !can {
				status, pattern = 400, `{"messages": [{"code": "error.field.not.queryable", "params": {"value": "`+path+`"}}]}`
			}
			for _, condition := range []string{"is%20null", "is%20not%20null"} {
				c.Send("GET", fmt.Sprintf("%s?context=main&where=%s%%20%s", list, path, condition), "", status, pattern)
			}
			asked++
		}
		for _, field := range []string{"id", "objectState", "createTime", "updateTime", "createUser", "updateUser", "validationWarnings", "network"} {
			ask(field, true)
		}
		s.paths(kind, "", s.schema(kind+".json"), true, func(path string, can bool) {
			// Not everybody sees all of it, and the spelling of an alias is not stored.
			hidden := kind == "users" && strings.HasPrefix(path, "userRoles") || kind == "segments" && path == "ttlUnit"
			ask(path, can && !hidden)
		})
	}
	if asked < 500 {
		t.Errorf("only %d properties were asked for", asked)
	}
}

// paths visits the properties of a type by their dotted paths, with whether
// they are stored, and everybody may know them.
func (s *properties) paths(file, path string, schema map[string]any, can bool, visit func(path string, can bool)) {
	file, _, schema = s.follow(file, "", schema)
	for name, part := range holds(schema) {
		below, open := path, can
		if name != "" {
			below = strings.TrimPrefix(path+"."+name, ".")
			for _, closed := range []string{"x-derived", "x-secret", "writeOnly"} {
				if is, _ := part[closed].(bool); is {
					open = false
				}
			}
			visit(below, open)
		} else if _, isMap := schema["additionalProperties"]; isMap {
			continue
		}
		s.paths(file, below, part, open, visit)
	}
}
