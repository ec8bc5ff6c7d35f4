package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"marquee"
	"marquee/integration/service"
)

// networksNamed is a collection of networks.
func networksNamed(prefix string, n int) string {
	objects := make([]string, n)
	for i := range objects {
		objects[i] = fmt.Sprintf(`{"id": "%s-%d", "name": "N"}`, prefix, i)
	}
	return "[" + strings.Join(objects, ", ") + "]"
}

// TestManyNetworks creates as many networks as a collection can have, each of which gives
// its creator a role, and then one more.
func TestManyNetworks(t *testing.T) { service.EachStore(t, testManyNetworks) }

func testManyNetworks(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	c.Send("POST", "/api/v1/networks", networksNamed("n", 1000), 200, "")
	user := c.Send("GET", "/api/v1/users/"+c.Service.UserID, "", 200, "").JSON().(map[string]any)
	held := user["userRoles"].(map[string]any)["rolesByNetwork"].([]any)
	if len(held) != 1001 {
		t.Errorf("the creator has roles in %d networks", len(held))
	}
	c.Send("POST", "/api/v1/notes/a?context=n-999", `{"text": "A"}`, 201, "")
	c.Send("POST", "/api/v1/networks", `{"name": "One more"}`, 422, `{"messages": [{"code": "error.networks.created", "params": {"limit": 1000}}]}`)
}

// TestNetworkLimits lets users have roles in two networks that they have created, and in
// three others.
func TestNetworkLimits(t *testing.T) { service.EachStore(t, testNetworkLimits) }

func testNetworkLimits(t *testing.T, fresh service.NewStore) {
	s := &service.Service{TB: t, URI: fresh(t), Configure: func(o *marquee.Options) { o.Networks.Created, o.Networks.Granted = 5, 3 }}
	c := service.ConverseWith(t, service.StartNew(s))
	c.Send("POST", "/api/v1/networks", networksNamed("n", 5), 200, "")
	const created = `{"messages": [{"code": "error.networks.created", "params": {"limit": 5}}]}`
	c.Send("PUT", "/api/v1/networks/other", `{"name": "Other"}`, 422, created)
	c.Send("POST", "/api/v1/networks", `[{"id": "n-0", "name": "Again"}, {"name": "New"}]`, 422, created)
	c.Send("GET", "/api/v1/networks/other", "", 404, "")

	roles := func(networks ...string) string {
		entries := make([]string, len(networks))
		for i, network := range networks {
			s.Ask(c.Token, "POST", "/api/v1/roles/all?context="+network, `{"name": "All", "scope": "NETWORK", "permissions": ["MANAGE_SYSTEM"]}`, nil)
			entries[i] = fmt.Sprintf(`{"network": %q, "roles": [{"role": "all"}]}`, network)
		}
		return `"userRoles": {"rolesByNetwork": [` + strings.Join(entries, ", ") + `]}`
	}
	const granted = `{"messages": [{"code": "error.networks.granted", "params": {"field": "/userRoles", "limit": 3}}]}`
	const kari = "/api/v1/users/kari"
	c.Send("PUT", kari, `{"username": "kari", "password": "a password to test with", `+roles("n-0", "n-1", "n-2", "n-3")+`}`, 422, granted)
	c.Send("PUT", kari, `{"username": "kari", "password": "a password to test with", `+roles("n-0", "n-1", "n-2")+`}`, 201, "")
	c.Send("PUT", kari, `{`+roles("n-0", "n-1", "n-2", "n-3")+`}`, 422, granted)
	c.Send("PUT", kari, `{`+roles("n-0", "n-1", "n-3")+`}`, 200, "")

	// What a user creates does not count towards what the user can be given.
	token, err := s.SignIn("kari")
	if err != nil {
		t.Fatal(err)
	}
	s.Must(token, http.MethodPost, "/api/v1/networks", networksNamed("k", 5), http.StatusOK)
	s.Must(token, http.MethodPost, "/api/v1/networks", `{"name": "One more"}`, http.StatusUnprocessableEntity)
	c.Send("PUT", kari, `{`+roles("n-0", "n-1", "n-2")+`}`, 200, "")
	c.Send("PUT", kari, `{`+roles("n-0", "n-1", "n-2", "n-4")+`}`, 422, granted)

	// Who has more keeps them, and is given no others.
	s.Stop()
	s.Configure = func(o *marquee.Options) { o.Networks.Granted = 2 }
	s.Start()
	c.Send("PUT", kari, `{`+roles("n-0", "n-1", "n-2")+`}`, 200, "")
	c.Send("PUT", kari, `{`+roles("n-0", "n-1", "n-3")+`}`, 422, "")
	c.Send("PUT", kari, `{`+roles("n-0", "n-1")+`}`, 200, "")
	c.Send("PUT", kari, `{`+roles("n-0", "n-4")+`}`, 200, "")
}

// TestRolesOfAUser gives a user as many roles in a network as a user can be given, and
// then others: all are read for each request of the user.
func TestRolesOfAUser(t *testing.T) { service.EachStore(t, testRolesOfAUser) }

func testRolesOfAUser(t *testing.T, fresh service.NewStore) {
	c := service.Converse(t, fresh)
	const most = 3000
	for from := 0; from <= most+1; from += 1000 {
		roles := make([]string, min(1000, most+2-from))
		for i := range roles {
			roles[i] = fmt.Sprintf(`{"id": "r%d", "name": "R", "permissions": ["MANAGE_BUSINESS"]}`, from+i)
		}
		c.Send("POST", "/api/v1/roles?context=main", "["+strings.Join(roles, ", ")+"]", 200, "")
	}
	with := func(from, to int) string {
		var roles []string
		for i := from; i < to; i++ {
			roles = append(roles, fmt.Sprintf(`{"role": "r%d"}`, i))
		}
		return `{"id": "kari", "username": "kari", "userRoles": {"rolesByNetwork": [{"network": "main", "roles": [` + strings.Join(roles, ", ") + `]}]}}`
	}
	const refused = `{"messages": [{"code": "error.roles.granted", "params": {"field": "/userRoles", "index": 1, "limit": 3000}}]}`
	c.Send("POST", "/api/v1/users", `[{"username": "other"}, `+with(0, most+1)+`]`, 422, refused)
	c.Send("POST", "/api/v1/users", `[{"username": "other"}, `+with(0, most)+`]`, 200, "")
	c.Send("POST", "/api/v1/users", `[{"username": "another"}, `+with(0, most+1)+`]`, 422, refused)
	c.Send("POST", "/api/v1/users", with(1, most+1), 200, "")
}
