package concurrency

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"marquee/auth/rights"
	"marquee/engine"
	"marquee/integration/mongodb"
	"marquee/integration/service"
)

// TestRacingWrites lets clients write one object at once: one creates it, one
// of those that name a version wins, and a unique value has one owner.
func TestRacingWrites(t *testing.T) { service.EachStore(t, testRacingWrites) }

func testRacingWrites(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Only(c.Race(service.Clients, func(int) (string, string, string, http.Header) {
		return "PUT", service.Object, `{"name": "same"}`, nil
	}), map[int]int{201: 1, 200: service.Clients - 1})
	etag := c.Send("GET", service.Object, "", 200, `{"name": "same"}`).Header.Get("ETag")
	if !strings.HasPrefix(etag, `"1-`) {
		t.Errorf("the same write has made the version %s", etag)
	}
	c.Only(c.Race(service.Clients, func(client int) (string, string, string, http.Header) {
		return "PUT", service.Object, fmt.Sprintf(`{"name": "client %d"}`, client), http.Header{"If-Match": {etag}}
	}), map[int]int{200: 1, 412: service.Clients - 1})
	c.Only(c.Race(service.Clients, func(int) (string, string, string, http.Header) {
		return "PUT", "/api/v1/teams/new?context=main", `{"name": "new"}`, http.Header{"If-None-Match": {"*"}}
	}), map[int]int{201: 1, 412: service.Clients - 1})
	c.Only(c.Race(service.Clients, func(client int) (string, string, string, http.Header) {
		return "POST", fmt.Sprintf("/api/v1/users/u%d", client), `{"username": "one"}`, nil
	}), map[int]int{201: 1, 422: service.Clients - 1})
	// … in upper or lower case
	c.Only(c.Race(service.Clients, func(client int) (string, string, string, http.Header) {
		name := []byte("spelling")
		for i := range 4 {
			if client>>i&1 == 1 {
				name[i] -= 'a' - 'A'
			}
		}
		return "POST", fmt.Sprintf("/api/v1/users/v%d", client), fmt.Sprintf(`{"username": "%s"}`, name), nil
	}), map[int]int{201: 1, 422: service.Clients - 1})
	c.Send("GET", "/api/v1/audit?context=main&type=teams&id=t", "", 200, `{"results": [{"version": 2}, {"version": 1}]}`)
}

// TestUnchangedObjectsOfAWrite writes two objects at once in two transactions, side by side,
// each of which finds one of them as it is to be: the result is that of the last one, for
// both objects.
func TestUnchangedObjectsOfAWrite(t *testing.T) {
	t.Parallel()
	mongodb.Need(t)
	c := service.Converse(t, service.Reusing(t))
	name := func(id, name string) string { return fmt.Sprintf(`{"id": %q, "name": %q}`, id, name) }
	send := func(a, b string) {
		t.Helper()
		c.Send("POST", "/api/v1/tiers?context=main", "["+name("a", a)+","+name("b", b)+"]", 200, "")
	}
	send("before", "before")
	release := c.Hold(c.Service, "tiers", map[string]any{"id": "a", "name": "after"}, map[string]any{"id": "b", "name": "before"})
	send("before", "after")
	release()
	c.Send("GET", "/api/v1/tiers/a?context=main", "", 200, name("a", "after"))
	c.Send("GET", "/api/v1/tiers/b?context=main", "", 200, name("b", "before"))
}

// TestRacingMerges lets clients change different properties of one object at
// once: none is lost.
func TestRacingMerges(t *testing.T) { service.EachStore(t, testRacingMerges) }

func testRacingMerges(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("PUT", "/api/v1/advertisers/a?context=main", `{"name": "a"}`, 201, "")
	names := []string{"description", "externalReference", "v1Category", "category", "contact", "advertiserUrl", "phone"}
	c.Only(c.Race(len(names), func(client int) (string, string, string, http.Header) {
		return "POST", "/api/v1/advertisers/a?context=main", fmt.Sprintf(`{"%s": "%s"}`, names[client], names[client]), nil
	}), map[int]int{200: len(names)})
	a := c.Send("GET", "/api/v1/advertisers/a?context=main", "", 200, "")
	for _, name := range names {
		if wrong := service.Match(map[string]any{name: name}, a.JSON(), "", nil); len(wrong) > 0 {
			t.Error(wrong)
		}
	}
	if etag := a.Header.Get("ETag"); !strings.HasPrefix(etag, fmt.Sprintf(`"%d-`, 1+len(names))) {
		t.Errorf("the entity tag after %d changes is %s", len(names), etag)
	}
}

// TestRacingAdministrators lets the last two administrators of a network end
// each other's administration at once, in every way that there is: one is left,
// and the service goes on.
func TestRacingAdministrators(t *testing.T) { service.EachStore(t, testRacingAdministrators) }

func testRacingAdministrators(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	names := []string{"one", "two"}
	restore := func(more map[string]any) {
		c.Helper()
		var batch []engine.Operation
		for _, name := range names {
			user := map[string]any{"id": name, "username": name, "objectState": "ACTIVE",
				"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{"network": service.Network, "roles": []any{map[string]any{"role": name}}}}}}
			maps.Copy(user, more)
			if len(more) > 0 {
				user["password"] = "a password to test with"
			}
			batch = append(batch, c.Operation("users", user), c.Operation("roles", map[string]any{
				"id": name, "name": name, "scope": "NETWORK", "objectState": "ACTIVE", "permissions": []any{rights.ManageSystem}}))
		}
		if _, err := c.Service.Engine.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Network: service.Network, Operations: batch}); err != nil {
			t.Fatal(err)
		}
	}
	restore(map[string]any{"displayName": "D"})
	tokens := map[string]string{}
	for _, name := range names {
		token, err := c.Service.SignIn(name)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
	}
	c.Send("PUT", "/api/v1/users/"+c.Service.UserID, `{"objectState": "INACTIVE"}`, 200, "")
	ways := []struct{ path, body string }{
		{"/api/v1/users/%s", `{"objectState": "INACTIVE"}`},
		{"/api/v1/users/%s", `{"userRoles": {"rolesByNetwork": []}}`},
		{"/api/v1/roles/%s?context=main", `{"objectState": "HIDDEN"}`},
		{"/api/v1/roles/%s?context=main", `{"permissions": []}`},
	}
	for round := range len(ways) * len(ways) {
		statuses := c.Race(2, func(client int) (string, string, string, http.Header) {
			way := ways[[]int{round % len(ways), round / len(ways)}[client]]
			return "PUT", fmt.Sprintf(way.path, names[1-client]), way.body, http.Header{"Authorization": {"Bearer " + tokens[names[client]]}}
		})
		// The slower one is refused: because the other is the last, or because
		// the caller lost the right, or the session, before the request.
		if statuses[200] != 1 || statuses[422]+statuses[403]+statuses[404]+statuses[401] != 1 {
			t.Errorf("round %d: %v", round, statuses)
		}
		restore(nil)
	}
}
