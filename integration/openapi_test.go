package integration

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"

	"marquee/integration/service"
)

// TestOpenAPI: the document is public, describes the types that are served, and is
// not sent again to a client that has it.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite, fstest.MapFS{"gadgets.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Gadget",
		"x-resource": {"path": "gadgets"}, "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "order": {"type": "string", "x-ref": "orders"}}}`)}})
	get := func(path string, header http.Header) *service.Answer {
		t.Helper()
		if header == nil {
			header = http.Header{}
		}
		a, err := s.Send(http.MethodGet, path, header, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	document := func(a *service.Answer) map[string]any {
		t.Helper()
		if a.Status != http.StatusOK {
			t.Fatalf("%d: %s", a.Status, a.Body)
		}
		paths, _ := a.JSON().(map[string]any)["paths"].(map[string]any)
		return paths
	}
	all := get("/api/openapi.json", nil)
	gadget, _ := document(all)["/api/v1/gadgets/{id}"].(map[string]any)
	if gadget["get"] == nil || gadget["put"] == nil {
		t.Errorf("the type of a folder is not described: %v", gadget)
	}
	tag := all.Header.Get("ETag")
	if a := get("/api/openapi.json", http.Header{"If-None-Match": {tag}}); tag == "" || a.Status != http.StatusNotModified {
		t.Errorf("with the entity tag %q: %d", tag, a.Status)
	}
	var fromYAML, fromJSON any
	if err := yaml.Unmarshal(get("/api/openapi.yaml", nil).Body, &fromYAML); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(fromYAML)
	if err := json.Unmarshal(all.Body, &fromJSON); err != nil {
		t.Fatal(err)
	}
	if want, _ := json.Marshal(fromJSON); string(want) != string(again) {
		t.Error("the YAML differs from the JSON")
	}
	if a := get("/api/openapi.json?mine=true", nil); a.Status != http.StatusUnauthorized {
		t.Errorf("mine without a token: %d", a.Status)
	}
	if a := get("/api/openapi.json?mine=perhaps", nil); a.Status != http.StatusUnauthorized {
		t.Errorf("mine=perhaps without a token: %d", a.Status)
	}
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	mine := get("/api/openapi.json?mine=true", http.Header{"Authorization": {"Bearer " + token}})
	if gadget, _ := document(mine)["/api/v1/gadgets/{id}"].(map[string]any); gadget["put"] == nil {
		t.Error("an administrator is not shown the writes")
	}
	reader := reader(s, t)
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
	if a := get("/api/openapi.json?all=perhaps", nil); a.Status != http.StatusBadRequest {
		t.Errorf("all=perhaps: %d", a.Status)
	}
	if a := get("/api/openapi.json?mine=perhaps", http.Header{"Authorization": {"Bearer " + reader}}); a.Status != http.StatusBadRequest {
		t.Errorf("mine=perhaps: %d", a.Status)
	}
}

// TestExamplesOfParameters sends the example of each parameter of the lists of types:
// a client that takes it from the document is answered.
func TestExamplesOfParameters(t *testing.T) {
	t.Parallel()
	s := service.New(t, service.NewSQLite)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	document := s.Must(token, http.MethodGet, "/api/openapi.json", "", http.StatusOK)
	parameters := service.LookUp(document, "/components/parameters")
	sent := 0
	for _, of := range s.Engine.Registry().Types() {
		path := "/api/v1/" + of.Name
		listed, _ := service.LookUp(document, "/paths/"+strings.ReplaceAll(path, "/", "~1")+"/get")["parameters"].([]any)
		for _, each := range listed {
			ref, _ := each.(map[string]any)["$ref"].(string)
			parameter, _ := parameters[strings.TrimPrefix(ref, "#/components/parameters/")].(map[string]any)
			examples, _ := service.LookUp(parameter, "/schema")["examples"].([]any)
			for _, example := range examples {
				query := url.Values{"context": {service.Network}, parameter["name"].(string): {example.(string)}}
				s.Must(token, http.MethodGet, path+"?"+query.Encode(), "", http.StatusOK)
				sent++
			}
		}
	}
	if sent < 40 {
		t.Errorf("only %d examples were sent", sent)
	}
}

// reader returns a token of a new user who may write nothing.
func reader(s *service.Service, t *testing.T) string {
	t.Helper()
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"operations": [
		{"type": "roles", "object": {"id": "reader", "name": "Reader", "scope": "NETWORK"}},
		{"type": "users", "object": {"id": "reader", "username": "reader", "password": "a password to test with",
			"userRoles": {"rolesByNetwork": [{"network": "` + service.Network + `", "roles": [{"role": "reader"}]}]}}}]}`
	a, err := s.Send(http.MethodPost, "/api/v1/batch?context="+service.Network, http.Header{"Authorization": {"Bearer " + token}}, strings.NewReader(body))
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%v %d: %s", err, a.Status, a.Body)
	}
	if token, err = s.SignIn("reader"); err != nil {
		t.Fatal(err)
	}
	return token
}
