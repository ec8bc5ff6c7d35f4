package integration

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
)

// TestOpenAPI: the document is public, describes the types that are served, and is
// not sent again to a client that has it.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := newService(t, newSQLite, fstest.MapFS{"gadgets.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Gadget",
		"x-resource": {"path": "gadgets"}, "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "order": {"type": "string", "x-ref": "orders"}}}`)}})
	get := func(path string, header http.Header) *answer {
		t.Helper()
		if header == nil {
			header = http.Header{}
		}
		a, err := s.send(http.MethodGet, path, header, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	document := func(a *answer) map[string]any {
		t.Helper()
		if a.status != http.StatusOK {
			t.Fatalf("%d: %s", a.status, a.body)
		}
		paths, _ := a.json().(map[string]any)["paths"].(map[string]any)
		return paths
	}
	all := get("/api/openapi.json", nil)
	gadget, _ := document(all)["/api/v1/gadgets/{id}"].(map[string]any)
	if gadget["get"] == nil || gadget["put"] == nil {
		t.Errorf("the type of a folder is not described: %v", gadget)
	}
	tag := all.header.Get("ETag")
	if a := get("/api/openapi.json", http.Header{"If-None-Match": {tag}}); tag == "" || a.status != http.StatusNotModified {
		t.Errorf("with the entity tag %q: %d", tag, a.status)
	}
	var fromYAML, fromJSON any
	if err := yaml.Unmarshal(get("/api/openapi.yaml", nil).body, &fromYAML); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(fromYAML)
	if err := json.Unmarshal(all.body, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if want, _ := json.Marshal(fromJSON); string(want) != string(again) {
		t.Error("the YAML differs from the JSON")
	}
	if a := get("/api/openapi.json?mine=true", nil); a.status != http.StatusUnauthorized {
		t.Errorf("mine without a token: %d", a.status)
	}
	if a := get("/api/openapi.json?mine=perhaps", nil); a.status != http.StatusUnauthorized {
		t.Errorf("mine=perhaps without a token: %d", a.status)
	}
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	mine := get("/api/openapi.json?mine=true", http.Header{"Authorization": {"Bearer " + token}})
	if gadget, _ := document(mine)["/api/v1/gadgets/{id}"].(map[string]any); gadget["put"] == nil {
		t.Error("an administrator is not shown the writes")
	}
	reader := s.reader(t)
	mine = get("/api/openapi.json?mine=true", http.Header{"Authorization": {"Bearer " + reader}})
	if gadget, _ := document(mine)["/api/v1/gadgets/{id}"].(map[string]any); gadget["put"] != nil || gadget["get"] == nil {
		t.Errorf("a reader is shown %v", gadget)
	}
	for path, item := range document(mine) {
		methods, _ := item.(map[string]any)
		if !strings.HasPrefix(path, "/api/v1/") || strings.HasPrefix(path, "/api/v1/users") || strings.HasSuffix(path, "/batch") || strings.HasSuffix(path, "/articles2") {
			continue
		}
		if methods["post"] != nil || methods["put"] != nil {
			t.Errorf("a reader is shown writes of %s", path)
		}
	}
	everything := get("/api/openapi.json?all=true", nil)
	if gadget, _ := document(everything)["/api/v1/gadgets/{id}"].(map[string]any); gadget["head"] == nil || gadget["post"] == nil {
		t.Errorf("of all operations, those of a type are %v", gadget)
	}
	if a := get("/api/openapi.json?all=perhaps", nil); a.status != http.StatusBadRequest {
		t.Errorf("all=perhaps: %d", a.status)
	}
	if a := get("/api/openapi.json?mine=perhaps", http.Header{"Authorization": {"Bearer " + reader}}); a.status != http.StatusBadRequest {
		t.Errorf("mine=perhaps: %d", a.status)
	}
}

// TestExamplesOfParameters sends the example of each parameter of the lists of types:
// a client that takes it from the document is answered.
func TestExamplesOfParameters(t *testing.T) {
	t.Parallel()
	s := newService(t, newSQLite)
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	document := s.must(token, http.MethodGet, "/api/openapi.json", "", http.StatusOK)
	parameters := lookUp(document, "/components/parameters")
	sent := 0
	for _, of := range s.engine.Registry().Types() {
		path := "/api/v1/" + of.Name
		listed, _ := lookUp(document, "/paths/"+strings.ReplaceAll(path, "/", "~1")+"/get")["parameters"].([]any)
		for _, each := range listed {
			ref, _ := each.(map[string]any)["$ref"].(string)
			parameter, _ := parameters[strings.TrimPrefix(ref, "#/components/parameters/")].(map[string]any)
			examples, _ := lookUp(parameter, "/schema")["examples"].([]any)
			for _, example := range examples {
				query := url.Values{"context": {network}, parameter["name"].(string): {example.(string)}}
				s.must(token, http.MethodGet, path+"?"+query.Encode(), "", http.StatusOK)
				sent++
			}
		}
	}
	if sent < 40 {
		t.Errorf("only %d examples were sent", sent)
	}
}

// reader returns a token of a new user who may write nothing.
func (s *service) reader(t *testing.T) string {
	t.Helper()
	token, err := s.signIn(admin)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"operations": [
		{"type": "roles", "object": {"id": "reader", "name": "Reader", "scope": "NETWORK"}},
		{"type": "users", "object": {"id": "reader", "username": "reader", "password": "a password to test with",
			"userRoles": {"rolesByNetwork": [{"network": "` + network + `", "roles": [{"role": "reader"}]}]}}}]}`
	a, err := s.send(http.MethodPost, "/api/v1/batch?context="+network, http.Header{"Authorization": {"Bearer " + token}}, strings.NewReader(body))
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%v %d: %s", err, a.status, a.body)
	}
	if token, err = s.signIn("reader"); err != nil {
		t.Fatal(err)
	}
	return token
}
