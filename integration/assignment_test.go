package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"marquee/engine/schema"
	"marquee/integration/service"
)

// assigned returns properties that no client may set, of any type.
func assigned(id string) map[string]any {
	return map[string]any{"createUser": map[string]any{"id": "victim"}, "updateUser": "victim", "createTime": "2001-01-01T00:00:00.000Z",
		"updateTime": "2001-01-01T00:00:00.000Z", "network": map[string]any{"id": "other"}, "url": "/api/v1/elsewhere/" + id,
		"validationWarnings": []any{map[string]any{"code": "warning.forged"}}, "revision": 99, "version": 99, "_id": "other", "terms": []any{"x"},
		"document": map[string]any{"name": "forged"}, "__proto__": map[string]any{"admin": true}, "constructor": "x", "$set": map[string]any{"network": "other"},
		"permissions[]": "MANAGE_SYSTEM", "createUser.id": "victim", "Name": "forged", "object_state": "HIDDEN"}
}

// TestMassAssignment posts objects of every type with all that a client must
// not set: who created them and when, their network and url, warnings, versions,
// each property that the schema calls read-only, and names that mean something to
// a database. What is stored and shown is as if none of it had been sent.
func TestMassAssignment(t *testing.T) { service.EachStore(t, testMassAssignment) }

func testMassAssignment(t *testing.T, fresh service.NewStore) {
	m := newMatrix(t, fresh)
	m.Send("POST", "/api/v1/users/victim", `{"username": "victim"}`, 201, "")
	for _, of := range m.Service.Engine.Registry().Types() {
		if !of.Writable() || of.Parent != "" {
			continue
		}
		t.Run(of.Name, func(t *testing.T) {
			forged := assigned("plain")
			for name, shape := range of.Shape.Properties {
				if shape.ReadOnly {
					forged[name] = "forged"
				}
			}
			for name := range of.Shape.Properties {
				if name == "Name" || name == "url" && slices.Contains(of.Unique, "url") {
					delete(forged, name)
				}
			}
			create := func(id string, more map[string]any) map[string]any {
				object := m.sample(of, id, service.Network)
				for _, property := range of.Unique {
					object[property] = strings.ReplaceAll(fmt.Sprint(object[property]), id, "same")
				}
				maps.Copy(object, more)
				for _, property := range of.Unique {
					object[property] = fmt.Sprint(object[property]) + id
				}
				answer, _ := m.Service.Ask(m.Token, "POST", "/api/v1/"+of.Name+"/"+id+"?context=main", service.JSONText(object), nil).JSON().(map[string]any)
				return answer
			}
			plain, got := create("plain", nil), create("forged", forged)
			for _, step := range []string{"created", "changed", "read"} {
				switch step {
				case "changed":
					got, _ = m.Service.Ask(m.Token, "PUT", "/api/v1/"+of.Name+"/forged?context=main", service.JSONText(forged), nil).JSON().(map[string]any)
				case "read":
					got, _ = m.Service.Ask(m.Token, "GET", "/api/v1/"+of.Name+"/forged?context=main", "", nil).JSON().(map[string]any)
				}
				compareAssigned(t, step, of, plain, got)
			}
		})
	}
}

// compareAssigned expects two objects to be equal except for their names.
func compareAssigned(t *testing.T, step string, of *schema.Type, plain, got map[string]any) {
	t.Helper()
	if plain["id"] != "plain" || got["id"] != "forged" {
		t.Fatalf("%s: %v, %v", step, plain, got)
	}
	names := map[string]bool{}
	for name := range plain {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	for name := range names {
		a, b := service.JSONText(plain[name]), service.JSONText(got[name])
		switch {
		case name == "createTime" || name == "updateTime":
			if strings.HasPrefix(b, `"2001`) || len(b) != len(a) {
				t.Errorf("%s: %s is %s", step, name, b)
			}
		case of.Name == "tokens" && (name == "token" || name == "expiryTime"): // which each token has its own of
			if strings.Contains(b, "forged") || strings.Contains(b, "2001") || step != "created" && name == "token" && b != "null" {
				t.Errorf("%s: %s is %s", step, name, b)
			}
		case slices.Contains(of.Unique, name) || of.IDProperty != "" && name == of.IDProperty:
		case strings.ReplaceAll(a, "plain", "forged") != b:
			t.Errorf("%s: %s is %s, not %s", step, name, b, a)
		}
	}
}

// TestPropertiesOfOthers: nobody sets what belongs to another user by naming it
// in a body, on any path.
func TestPropertiesOfOthers(t *testing.T) { service.EachStore(t, testPropertiesOfOthers) }

func testPropertiesOfOthers(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/batch?context=main", `{"operations": [
		{"type": "roles", "object": {"id": "reader", "name": "R", "scope": "NETWORK"}},
		{"type": "users", "object": {"id": "eve", "username": "eve", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}},
		{"type": "users", "object": {"id": "kari", "username": "kari", "password": "a password to test with", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}]}]}}}]}`, 200, "")
	eve, err := c.Service.SignIn("eve")
	if err != nil {
		t.Fatal(err)
	}
	all := `{"rolesByNetwork": [{"network": "main", "roles": [{"role": "administrator"}]}]}`
	for _, r := range []struct {
		path, body string
		status     int
	}{
		{"/api/v1/users/kari", `{"displayName": "forged"}`, 403},
		{"/api/v1/users/kari", `{"password": "a password to test with"}`, 403},
		{"/api/v1/users/kari", `{"password": "a password to test with", "currentPassword": "a password to test with"}`, 403},
		{"/api/v1/users/eve", `{"id": "kari", "displayName": "forged"}`, 400},
		{"/api/v1/users", `[{"id": "eve", "displayName": "E"}, {"id": "kari", "displayName": "forged"}]`, 403},
		{"/api/v1/batch?context=main", `{"operations": [{"type": "users", "object": {"id": "eve", "displayName": "E"}}, {"type": "users", "object": {"id": "kari", "password": "a password to test with"}}]}`, 403},
		{"/api/v1/users/eve", `{"userRoles": ` + all + `}`, 403},
		{"/api/v1/users/eve", `{"userRoles": {"rolesByNetwork": [{"network": "main", "roles": [{"role": "reader"}, {"role": "administrator"}]}]}}`, 403},
		{"/api/v1/users/eve", `{"username": "kari"}`, 422},
		{"/api/v1/users/eve", `{"username": "eva"}`, 422},
		{"/api/v1/users/eve", `{"password": "another password to test with"}`, 422},
		{"/api/v1/users/new", `{"username": "new", "userRoles": ` + all + `}`, 403},
		{"/api/v1/users/admin", `{"displayName": "forged"}`, 403},
		{"/api/v1/roles/reader?context=main", `{"permissions": ["MANAGE_SYSTEM"]}`, 403},
		{"/api/v1/teams/t?context=main", `{"name": "T", "users": ["eve"]}`, 403},
		{"/api/v1/networks/main", `{"name": "forged"}`, 403},
	} {
		before, err := c.Service.Camera.Picture()
		if err != nil {
			t.Fatal(err)
		}
		a := c.Service.Ask(eve, "PUT", r.path, r.body, nil)
		if a.Status != r.status {
			t.Errorf("%s %s: %d, not %d: %s", r.path, r.body, a.Status, r.status, a.Body)
		}
		if after, err := c.Service.Camera.Picture(); err != nil || after != before {
			t.Errorf("%s %s: the store is not as before: %v", r.path, r.body, err)
		}
	}
	c.Send("GET", "/api/v1/users/kari", "", 200, `{"displayName": "<absent>"}`)
	if _, err := c.Service.SignIn("kari"); err != nil {
		t.Error(err)
	}
}
