package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSitesOfRolesAreBounded gives a user roles that name more sites than the limit, which
// would make each request of the user more expensive. A write that exceeds the limit is
// refused; of roles that have grown beyond it since, the first 10,000 sites count.
func TestSitesOfRolesAreBounded(t *testing.T) {
	process.SkipLong(t)
	service.EachStore(t, testSitesOfRolesAreBounded)
}

func testSitesOfRolesAreBounded(t *testing.T, fresh service.NewStore) {
	s := service.New(t, fresh)
	token, err := s.SignIn(service.Admin)
	if err != nil {
		t.Fatal(err)
	}
	text := func(value any) string {
		content, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	const sites, most = 11_000, 10_000
	ids := make([]string, sites)
	for i := range ids {
		ids[i] = fmt.Sprintf("s%05d", i)
	}
	for from := 0; from < sites; from += 1000 {
		var list []map[string]any
		for _, id := range ids[from : from+1000] {
			list = append(list, map[string]any{"id": id, "name": id})
		}
		s.Must(token, http.MethodPost, "/api/v1/sites?context=main", text(list), http.StatusOK)
	}
	name := func(role string, named []string, status int) *service.Answer {
		a := s.Ask(token, http.MethodPost, "/api/v1/roles/"+role+"?context=main", text(map[string]any{"name": role, "sites": named}), nil)
		if a.Status != status {
			t.Fatalf("a role with %d sites: want %d, got %d: %.300s", len(named), status, a.Status, a.Body)
		}
		return a
	}
	if a := name("c", ids, http.StatusUnprocessableEntity); !strings.Contains(string(a.Body), "error.items.too.many") {
		t.Errorf("a role with too many sites: %.300s", a.Body)
	}
	name("a", ids[:6000], http.StatusCreated)
	name("b", ids[6000:most], http.StatusCreated)
	name("c", ids[most:most+1], http.StatusCreated)
	give := func(roles ...string) string {
		held := []any{}
		for _, role := range roles {
			held = append(held, map[string]any{"role": role})
		}
		return text(map[string]any{"username": "kari", "password": "a password to test with", "userRoles": map[string]any{
			"rolesByNetwork": []any{map[string]any{"network": service.Network, "roles": held}}}})
	}
	a := s.Ask(token, http.MethodPost, "/api/v1/users/kari", give("b", "c", "a"), nil)
	if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Body), "error.roles.too.wide") {
		t.Errorf("roles that name too much: %d %.300s", a.Status, a.Body)
	}
	s.Must(token, http.MethodPost, "/api/v1/users/kari", give("b", "a"), http.StatusCreated)
	name("b", ids[6000:], http.StatusOK) // beyond what counts
	member, err := s.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	list := s.Must(member, http.MethodGet, "/api/v1/sites?context=main&pageSize=1", "", http.StatusOK)
	if got := fmt.Sprint(list["totalCount"]); got != fmt.Sprint(most) {
		t.Errorf("the roles show %s sites, want %d", got, most)
	}
	for id, status := range map[string]int{ids[0]: http.StatusOK, ids[most-1]: http.StatusOK, ids[most]: http.StatusNotFound} {
		if a := s.Ask(member, http.MethodGet, "/api/v1/sites/"+id+"?context=main", "", nil); a.Status != status {
			t.Errorf("site %s: want %d, got %d", id, status, a.Status)
		}
	}
}
