package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/integration/service"
)

// TestPlainSchemasOfSamples makes an object of each type, dropped-in ones too, of what
// its schema says, and compares with the plain schema, which is one document of JSON
// Schema's own keywords. It requires the same properties as the service.
func TestPlainSchemasOfSamples(t *testing.T) {
	t.Parallel()
	m := newMatrix(t, service.NewSQLite)
	if !service.RaceDetector && m.Service.JudgePlainly("/api/v1/orders/x?context=main", []byte(`{"name": 7}`), &service.Answer{Status: http.StatusCreated}) == nil {
		t.Error("objects that fixtures create are not compared")
	}
	for _, of := range m.Service.Engine.Registry().Types() {
		compiled, err := m.Service.PlainSchema(of.Name)
		if err != nil {
			t.Fatal(err)
		}
		text := m.Service.Ask("", http.MethodGet, "/api/schemas/"+of.Name+"?form=plain", "", nil).Body
		var schema map[string]any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range notPlain(schema) {
			t.Errorf("%s: %s", of.Name, wrong)
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, member := range of.Shape.Properties {
			definition, _ := properties[name].(map[string]any)
			given, has := definition["default"]
			if definition == nil || has != member.HasDefault || has && !document.Equal(decoded(t, given), decoded(t, member.Default)) {
				t.Errorf("%s: the plain schema says of %s: %v", of.Name, name, definition)
			}
			if readOnly := definition["readOnly"] == true; readOnly != member.ReadOnly {
				t.Errorf("%s: readOnly of %s is %v", of.Name, name, readOnly)
			}
		}
		if !of.Writable() {
			if schema["readOnly"] != true {
				t.Errorf("%s cannot be written, and is not readOnly", of.Name)
			}
			continue
		}
		sample := m.sample(of, "sample", service.Network)
		if err := compiled.Validate(decoded(t, sample)); err != nil {
			t.Errorf("%s: %s: %#v", of.Name, service.JSONText(sample), err)
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			without := decoded(t, sample).(map[string]any)
			delete(without, name.(string))
			if compiled.Validate(without) == nil {
				t.Errorf("%s without %s is accepted", of.Name, name)
			}
		}
		wrong := decoded(t, sample).(map[string]any)
		wrong["objectState"] = "GONE"
		if compiled.Validate(wrong) == nil {
			t.Errorf("%s of another state is accepted", of.Name)
		}
	}
}

// TestPlainSchemasOfDemo compares the demonstration data, as they are sent and as they
// are returned, with the plain schemas.
func TestPlainSchemasOfDemo(t *testing.T) { service.EachStore(t, testPlainSchemasOfDemo) }

func testPlainSchemasOfDemo(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	var operations []engine.Operation
	for _, operation := range demo(c.Service)[0].Operations {
		if operation.Type.Name != "users" { // whose secrets are not returned
			operations = append(operations, operation)
		}
	}
	var entries []map[string]any
	for _, operation := range operations {
		entries = append(entries, map[string]any{"type": operation.Type.Name, "object": operation.Object})
	}
	c.Send("POST", "/api/v1/batch?context="+service.Network, service.JSONText(map[string]any{"operations": entries}), 200, "")
	kinds := map[string]bool{}
	for _, operation := range operations {
		kind, object := operation.Type.Name, operation.Object
		kinds[kind] = true
		compiled, err := c.Service.PlainSchema(kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(decoded(t, object)); err != nil {
			t.Errorf("%s %v: %#v", kind, object["id"], err)
		}
		path := fmt.Sprintf("/api/v1/%s/%v?context=%s", kind, object["id"], service.Network)
		if err := compiled.Validate(c.Service.Ask(c.Token, http.MethodGet, path, "", nil).JSON()); err != nil {
			t.Errorf("%s as it is returned: %#v", path, err)
		}
	}
	if len(kinds) < 8 {
		t.Errorf("the demonstration data are of %d types", len(kinds))
	}
}

// decoded is a value as a validator takes it.
func decoded(t *testing.T, value any) any {
	t.Helper()
	again, err := service.Decode([]byte(service.JSONText(value)))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// keywordsOfSchemas are those in which a plain schema contains schemas.
var keywordsOfSchemas = map[string]bool{"properties": true, "patternProperties": true, "$defs": true}

// notPlain lists what is in a schema that no plain one has: keywords of our own, and
// references to other documents.
func notPlain(value any) (wrong []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			wrong = append(wrong, notPlain(item)...)
		}
	case map[string]any:
		for keyword, member := range v {
			switch ref, _ := member.(string); {
			case strings.HasPrefix(keyword, "x-"):
				wrong = append(wrong, keyword)
			case keyword == "$ref" && !strings.HasPrefix(ref, "#/$defs/") && ref != "#":
				wrong = append(wrong, "$ref "+ref)
			case keyword == "examples", keyword == "default", keyword == "const", keyword == "enum":
			case keywordsOfSchemas[keyword]:
				for _, inner := range member.(map[string]any) {
					wrong = append(wrong, notPlain(inner)...)
				}
			default:
				wrong = append(wrong, notPlain(member)...)
			}
		}
	}
	return wrong
}
