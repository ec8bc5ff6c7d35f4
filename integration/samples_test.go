package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/integration/service"
)

// droppedIn are types of a harbour, which no line of Go knows: with a path to
// teams, with one through another type, with one to sites, without any, of a
// permission of their own, read-only, and global.
var droppedIn = fstest.MapFS{
	"harbours.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Harbour", "x-resource": {"path": "harbours", "team": "crew", "permission": "RUN_REPORTS"},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "crew": {"type": "string", "x-ref": "teams"}}}`)},
	"berths.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Berth", "x-resource": {"path": "berths", "team": ["owner", "harbour.crew"]},
		"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "owner": {"type": "string", "x-ref": "teams"}, "harbour": {"type": "string", "x-ref": "harbours"}}}`)},
	"boats.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Boat", "x-resource": {"path": "boats", "team": ["berth.owner", "berth.harbour.crew"]},
		"type": "object", "properties": {"berth": {"type": "string", "x-ref": "berths"}}}`)},
	"signs.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Sign", "x-resource": {"path": "signs", "team": "site"},
		"type": "object", "properties": {"site": {"type": "string", "x-ref": "sites"}}}`)},
	"buoys.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Buoy", "x-resource": {"path": "buoys", "permission": "MANAGE_LAYOUTS"},
		"type": "object", "properties": {"colour": {"type": "string"}}}`)},
	"tides.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Tide", "x-resource": {"path": "tides", "methods": ["GET", "HEAD"]},
		"type": "object", "properties": {"height": {"type": "number"}}}`)},
	"oceans.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Ocean", "x-resource": {"path": "oceans", "scope": "global", "permission": "MANAGE_REPORT_TEMPLATES"},
		"type": "object", "properties": {"depth": {"type": "number"}}}`)},
}

// matrix makes objects of every type, dropped-in ones too, of what their schemas
// say alone, and asks for them.
type matrix struct {
	*service.Conversation
	properties *properties
	made       map[string]bool
	samples    map[string]map[string]any // by network and type
	asked      *int
	admin      string // a token
}

// newMatrix starts a service with the types that are dropped in, and a second
// network.
func newMatrix(t *testing.T, fresh service.NewStore) *matrix {
	t.Helper()
	m := &matrix{Conversation: service.ConverseWith(t, service.New(t, fresh, droppedIn)), properties: readProperties(t), made: map[string]bool{}, samples: map[string]map[string]any{}, asked: new(int)}
	m.admin = m.Token
	for name, file := range droppedIn {
		var content map[string]any
		if err := json.Unmarshal(file.Data, &content); err != nil {
			t.Fatal(err)
		}
		m.properties.schemas[name] = content
	}
	m.Send("POST", "/api/v1/networks/other", `{"name": "Other"}`, 201, "")
	return m
}

// write stores an object as the service itself, past every right.
func (m *matrix) write(kind, at string, object map[string]any) {
	m.Helper()
	if kind == "assets" {
		creative, _ := object["creative"].(string)
		m.Service.Write(m.admin, service.Placed{Kind: kind, ID: object["id"].(string), Posted: map[string]any{"creative": creative}})
		return
	}
	normal, err := document.DecodeObject([]byte(service.JSONText(object)), document.Limits{})
	if err != nil {
		m.Fatal(err)
	}
	_, err = m.Service.Engine.Write(m.Context(), &engine.Caller{System: true}, engine.Batch{Network: at, Operations: []engine.Operation{m.Operation(kind, normal)}})
	if err != nil {
		m.Fatalf("%s %s: %v", kind, service.JSONText(object), err)
	}
}

// target is the type that a property refers to, and whether it is a list.
func (m *matrix) target(of *schema.Type, property string) (*schema.Type, bool) {
	shape := of.Shape.Properties[property]
	isList := shape.Ref == nil
	if isList {
		shape = shape.Element
	}
	found, err := m.Service.Engine.Type(shape.Ref.Type)
	if err != nil {
		m.Fatal(err)
	}
	return found, isList
}

// related makes what an object that is related to the callers' team in some way
// has besides what its type requires. A path leads from it to the team.
func (m *matrix) related(of *schema.Type, relation, path, at string) map[string]any {
	if path == "" || path == "id" || relation == "none" {
		return map[string]any{}
	}
	head, rest, _ := strings.Cut(path, ".")
	to, isList := m.target(of, head)
	value := any(relation)
	if to.Name != "teams" {
		if rest == "" {
			rest = to.Team[0]
		}
		value = m.make(to, relation, rest, at)
	}
	if isList {
		value = []any{value}
	}
	return map[string]any{head: value}
}

// make stores an object of the relation, and returns its id.
func (m *matrix) make(of *schema.Type, relation, path, at string) string {
	m.Helper()
	id := strings.Trim(relation+"."+path, ".")
	key := at + " " + of.Name + " " + id
	if m.made[key] {
		return id
	}
	m.made[key] = true
	object := m.sample(of, id, at)
	maps.Copy(object, m.related(of, relation, path, at))
	object["id"] = id
	m.write(of.Name, at, object)
	if path == "id" && relation != "none" { // teams list what belongs to them
		teams, err := m.Service.Engine.Type("teams")
		if err != nil {
			m.Fatal(err)
		}
		for _, property := range teams.References() {
			if to, _ := m.target(teams, property); to.Name == of.Name {
				m.write("teams", at, map[string]any{"id": relation, property: []any{id}})
			}
		}
	}
	return id
}

// sample makes an object that the type accepts: it fills in what a validation
// finds missing, with examples of the schema.
func (m *matrix) sample(of *schema.Type, id, at string) map[string]any {
	m.Helper()
	object, known := map[string]any{}, at+" "+of.Name
	if found, ok := m.samples[known]; ok {
		object = document.Clone(found).(map[string]any)
	}
	if of.Parent != "" {
		to, _ := m.target(of, of.Parent)
		object[of.Parent] = m.make(to, "none", firstPath(to), at)
	}
	for _, property := range of.Unique {
		object[property] = "https://example.com/" + of.Name + "/" + at + "/" + id
	}
	if of.Name == "assets" || m.samples[known] != nil {
		return object
	}
	for range 20 {
		normal, err := document.DecodeObject([]byte(service.JSONText(object)), document.Limits{})
		if err != nil {
			m.Fatal(err)
		}
		normal["id"] = id
		_, err = m.Service.Engine.Write(m.Context(), &engine.Caller{System: true}, engine.Batch{Network: at, ValidateOnly: true, Operations: []engine.Operation{m.Operation(of.Name, normal)}})
		if err == nil {
			m.samples[known], _ = document.Clone(object).(map[string]any)
			return object
		}
		fields := faultFields(err)
		if len(fields) == 0 {
			m.Fatalf("a sample of %s: %s: %v", of.Name, service.JSONText(object), err)
		}
		for _, field := range fields {
			m.fill(of, object, field, at)
		}
	}
	m.Fatalf("no sample of %s: %s", of.Name, service.JSONText(object))
	return nil
}

func firstPath(of *schema.Type) string {
	if len(of.Team) == 0 {
		return ""
	}
	return of.Team[0]
}

// faultFields returns the pointers of the values that a validation refuses.
func faultFields(err error) (fields []string) {
	var refused *message.Error
	if !errors.As(err, &refused) {
		return nil
	}
	text, _ := json.Marshal(refused.Messages)
	var messages []struct{ Params map[string]any }
	if json.Unmarshal(text, &messages) != nil {
		return nil
	}
	for _, m := range messages {
		if field, _ := m.Params["field"].(string); field != "" {
			fields = append(fields, field)
		}
	}
	return fields
}

// fill gives the property at a pointer a value that its schema names.
func (m *matrix) fill(of *schema.Type, object map[string]any, pointer, at string) {
	m.Helper()
	file, here, part := of.Name+".json", "", m.properties.schema(of.Name+".json")
	value := any(object)
	names := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, name := range names {
		holder, ok := value.(map[string]any)
		next := map[string]any(nil)
		if file, here, part = m.properties.follow(file, here, part); ok {
			next = holds(part)[name]
		}
		if next == nil && i > 0 { // what an example names, and nothing declares
			object[names[0]] = map[string]any{}
			return
		}
		if next == nil {
			m.Fatalf("a sample of %s cannot have %s: %s", of.Name, pointer, service.JSONText(object))
		}
		if part = next; i == len(names)-1 {
			holder[name] = m.value(file, part, at)
		}
		value = holder[name]
	}
}

// value is one that a schema names, by its examples first.
func (m *matrix) value(file string, part map[string]any, at string) any {
	switch to := part["x-ref"].(type) {
	case string:
		return m.refer(to, at)
	case map[string]any:
		return m.refer(to["type"].(string), at)
	}
	_, _, whole := m.properties.follow(file, "", part)
	for _, from := range []map[string]any{part, whole} {
		for _, name := range []string{"examples", "enum"} {
			if values, _ := from[name].([]any); len(values) > 0 {
				return document.Clone(values[0])
			}
		}
	}
	kind := fmt.Sprint(whole["type"])
	switch {
	case whole["format"] == "date-time":
		return "2031-03-01T00:00:00Z"
	case strings.Contains(kind, "string"):
		return "text"
	case strings.Contains(kind, "boolean"):
		return true
	case strings.Contains(kind, "integer"), strings.Contains(kind, "number"):
		return 1
	case strings.Contains(kind, "array"):
		items, _ := whole["items"].(map[string]any)
		return []any{m.value(file, items, at)}
	}
	return map[string]any{}
}

func (m *matrix) refer(kind, at string) any {
	of, err := m.Service.Engine.Type(kind)
	if err != nil {
		m.Fatal(err)
	}
	return m.make(of, "none", firstPath(of), at)
}
