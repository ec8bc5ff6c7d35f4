package access

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"marquee"
	"marquee/integration/marqueetest"
)

// TestDocumentsNameNothingHidden: no document names a type that its reader may not read, as what
// refers to it in another type does not.
func TestDocumentsNameNothingHidden(t *testing.T) {
	const start = `{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", `
	s := marqueetest.StartWith(t, marquee.Options{Schemas: fstest.MapFS{
		"laws.json": {Data: []byte(start + `"title": "Law", "x-resource": {"path": "laws", "permissions": {"read": "READ_ARCHIVE"}}, "properties": {"name": {"type": "string"}},
			"x-validations": [{"rule": "!has(self.name) || size(self.name) < 9", "code": "error.law.long", "text": "The law is long."}]}`)},
		"stays.json": {Data: []byte(start + `"title": "Stay", "x-resource": {"path": "stays"}, "properties": {"name": {"type": "string"}, "rule": {"x-ref": "laws"},
			"rules": {"type": "array", "items": {"x-ref": {"type": "laws", "form": "object"}}}, "inner": {"type": "object", "properties": {"by": {"x-ref": "laws"}}}, "last": {"$ref": "common/rule.json"}},
			"allOf": [{"if": {"required": ["name"]}, "then": {"properties": {"more": {"x-ref": "laws"}}}}]}`)},
		"common/rule.json": {Data: []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "x-ref": "laws", "description": "What holds."}`)},
	}})
	s.Do(http.MethodPost, "/api/v1/roles/guests?context=main", `{"name": "Guests", "scope": "TEAM", "permissions": []}`, http.StatusCreated)
	s.Do(http.MethodPost, "/api/v1/users/guest", `{"username": "guest", "password": "`+marqueetest.Password+` too", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "guests"}]}]}}`, http.StatusCreated)
	token := s.Do(http.MethodPost, "/api/authenticate", `{"grant_type": "password", "username": "guest", "password": "`+marqueetest.Password+` too"}`, http.StatusOK)["access_token"].(string)
	read := func(path, token string) (string, int) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), answer.StatusCode
	}
	for _, path := range []string{"/docs/types/stays", "/api/schemas/stays", "/api/schemas/stays?form=plain", "/api/schemas", "/api/openapi.json", "/api/openapi.yaml", "/api/openapi.json?all=true", "/docs/messages"} {
		mine := path + "?mine=true"
		if strings.Contains(path, "?") {
			mine = path + "&mine=true"
		}
		for _, of := range [][2]string{{path, ""}, {path, token}, {mine, token}} {
			text, status := read(of[0], of[1])
			lower := strings.ToLower(text)
			if at := strings.Index(lower, "law"); status != http.StatusOK || at >= 0 {
				t.Errorf("%s is answered with %d and names a hidden type: …%s…", of[0], status, text[max(0, at-200):min(len(text), max(0, at)+50)])
			}
		}
	}
	if text, status := read("/docs/types/laws", ""); status != http.StatusNotFound || strings.Contains(text, "Law") {
		t.Errorf("/docs/types/laws is answered with %d", status)
	}
	admin := s.Do(http.MethodPost, "/api/authenticate", `{"grant_type": "password", "username": "`+marqueetest.Username+`", "password": "`+marqueetest.Password+`"}`, http.StatusOK)["access_token"].(string)
	for _, path := range []string{"/docs/types/stays?mine=true", "/api/schemas/stays?mine=true"} {
		if text, _ := read(path, admin); strings.Count(text, "laws") < 4 {
			t.Errorf("%s lacks the type for who may read it: %s", path, text)
		}
	}
}
