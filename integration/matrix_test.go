package integration

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/integration/process"
	"marquee/integration/service"
)

// relations are whose objects there are: of the callers' team, of another, and
// of none.
var relations = []string{"own", "other", "none"}

// matrixCaller is a kind of caller: what the roles of a user allow in the
// network main.
type matrixCaller struct {
	name string
	// network and team are the permissions of the roles of each scope; nil is no
	// role.
	network, team []string
	// outside is a user of another network, who has all permissions there.
	outside bool
}

// briefly are the types of a short run: one of each kind of path to a team, one
// without, and a global one.
var briefly = []string{"adunits", "lineitems", "sites", "tiers", "networks"}

// TestAccessMatrix asks for objects of every type, of the callers' team, another
// and none, of the callers' network and another, with every method, as callers
// of every kind. The statuses follow from the permission, the paths to teams
// and the scope of the type that its schema names.
func TestAccessMatrix(t *testing.T) { service.EachStore(t, testAccessMatrix) }

func testAccessMatrix(t *testing.T, fresh service.NewStore) {
	process.SkipSequential(t)
	m := newMatrix(t, fresh)
	roles, err := m.Service.Engine.Type("roles")
	if err != nil {
		t.Fatal(err)
	}
	permissions := roles.Permissions()
	callers := map[string][]matrixCaller{}
	for _, permission := range permissions {
		callers[permission] = m.callersOf(permission, permissions)
	}
	m.teams()
	types, least := m.Service.Engine.Registry().Types(), 3000
	if testing.Short() {
		types, least = slices.DeleteFunc(types, func(of *schema.Type) bool { return !slices.Contains(briefly, of.Name) }), 500
	}
	for _, of := range types {
		t.Run(of.Name, func(t *testing.T) {
			for _, c := range callers[of.Permission] {
				n := *m
				inner := *m.Conversation
				inner.T = t
				n.Conversation = &inner
				token, err := m.Service.SignIn(c.name)
				if err != nil {
					t.Fatal(err)
				}
				n.Token = token
				n.askAll(of, c)
			}
		})
	}
	t.Logf("%d requests to %d types", *m.asked, len(types))
	if *m.asked < least {
		t.Errorf("only %d requests were sent", *m.asked)
	}
}

// callersOf makes the callers that matter to the types of a permission.
func (m *matrix) callersOf(permission string, all []string) []matrixCaller {
	m.Helper()
	others := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == permission })
	kinds := []matrixCaller{
		{name: "with", team: []string{permission}},
		{name: "less", team: others},
		{name: "wide", network: []string{permission}},
		{name: "wider", network: others},
		{name: "both", network: others, team: []string{permission}},
		{name: "none"},
		{name: "out", outside: true},
	}
	for i, c := range kinds {
		c.name = c.name + "." + strconv.Itoa(slices.Index(all, permission))
		kinds[i] = c
		var held []any
		role := func(scope, state string, permissions []string) {
			id := fmt.Sprintf("%s.%s.%s", c.name, scope, state)
			m.write("roles", service.Network, map[string]any{"id": id, "name": id, "scope": scope, "objectState": state, "permissions": document.Array(permissions)})
			held = append(held, map[string]any{"role": id})
		}
		if c.network != nil {
			role("NETWORK", "ACTIVE", c.network)
		}
		if c.team != nil {
			role("TEAM", "ACTIVE", c.team)
		}
		at := service.Network
		switch {
		case c.outside:
			at = "other"
			m.write("roles", at, map[string]any{"id": c.name, "name": "R", "scope": "NETWORK", "permissions": document.Array(all)})
			held = append(held, map[string]any{"role": c.name})
		case len(held) == 0: // roles that are not ACTIVE are none
			role("NETWORK", "INACTIVE", all)
			role("TEAM", "HIDDEN", all)
		}
		m.write("users", at, map[string]any{"id": c.name, "username": c.name, "password": "a password to test with",
			"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{"network": at, "roles": held}}}})
	}
	return kinds
}

// teams makes the team of all callers, and another.
func (m *matrix) teams() {
	var users []any
	page := m.Send("GET", "/api/v1/users?context=main&pageSize=1000&fields=id", "", 200, "").JSON().(map[string]any)
	for _, id := range service.IDsOf(page) {
		users = append(users, id)
	}
	for _, at := range []string{service.Network, "other"} {
		m.write("teams", at, map[string]any{"id": "own", "name": "Own", "users": users})
		m.write("teams", at, map[string]any{"id": "other", "name": "Other"})
	}
}

// askAll sends every request about a type as one caller.
func (m *matrix) askAll(of *schema.Type, c matrixCaller) {
	if of.Name == "users" || of.Name == "networks" {
		m.askAccounts(of, c)
		return
	}
	for _, at := range []string{service.Network, "other"} {
		member := !c.outside && c.network != nil || c.team != nil
		if at == "other" {
			member = c.outside
		}
		if of.Name == "assets" && at == "other" {
			continue // whose files are uploaded to main
		}
		paths := of.Team
		if len(paths) == 0 {
			paths = []string{""}
		}
		seen, ids := 0, []string{}
		for _, path := range paths {
			for _, relation := range relations {
				if path == "" && relation != "none" {
					continue
				}
				id := m.make(of, relation, path, at)
				w := m.wants(of, c, at, relation, path, member)
				if m.askObject(of, id, at, w); w.get == 200 {
					seen++
				}
				if of.Parent == "" && of.Writable() {
					m.askNew(of, c, at, relation, path, w)
				}
				ids = append(ids, id)
			}
		}
		m.askLists(of, at, ids, seen, member || of.Global)
	}
}

// wanted are the statuses of requests for an object.
type wanted struct{ get, put, create int }

// wants derives the expected statuses from the schema of a type.
func (m *matrix) wants(of *schema.Type, c matrixCaller, at, relation, path string, member bool) wanted {
	inNetwork := slices.Contains(c.network, of.Permission) || c.outside
	inTeam := slices.Contains(c.team, of.Permission)
	if of.Global {
		w := wanted{get: 200, put: 403, create: 403}
		if inNetwork {
			w.put, w.create = 200, 200
		}
		return w
	}
	if !member {
		return wanted{403, 403, 403}
	}
	if of.Name == "tokens" { // only for administrators of the whole network
		if inNetwork {
			return wanted{200, 200, 200}
		}
		return wanted{404, 403, 403}
	}
	within := c.team != nil && (path == "" || relation == "own" || relation == "none" && path != "id")
	sees := c.network != nil || c.outside || within
	w := wanted{200, 200, 200}
	if !sees {
		w = wanted{404, 404, 403}
		if head, rest, _ := strings.Cut(path, "."); head != "id" { // a target that is not seen is not there
			if to, _ := m.target(of, head); rest != "" || to.Name != "teams" {
				w.create = 422
			}
		}
	} else if !inNetwork && !within {
		w.put, w.create = 403, 403
	}
	if path == "id" && !inNetwork && sees { // a new object belongs to no team yet
		w.create = 403
	}
	if !inNetwork && !inTeam {
		w.put, w.create = 403, 403
	}
	return w
}

func (m *matrix) objectPath(of *schema.Type, id, at string) string {
	if of.Parent != "" {
		to, _ := m.target(of, of.Parent)
		relation, path, _ := strings.Cut(id, ".")
		_, rest, _ := strings.Cut(path, ".")
		parent := strings.Trim(relation+"."+rest, ".")
		if relation == "none" {
			parent = strings.Trim("none."+firstPath(to), ".")
		}
		id = parent + "/" + id
	}
	return "/api/v1/" + of.Name + "/" + id + "?context=" + at
}

// is sends a request, and expects a status.
func (m *matrix) is(status int, method, path, body string) *service.Answer {
	m.Helper()
	*m.asked++
	a := m.Service.Ask(m.Token, method, path, body, nil)
	if a.Status != status {
		m.Errorf("%s %s %.300s: %d, not %d: %.300s", method, path, body, a.Status, status, a.Body)
	}
	for _, wrong := range a.Promises(false) {
		m.Errorf("%s %s: %s", method, path, wrong)
	}
	return a
}

// askObject asks for an object with every method.
func (m *matrix) askObject(of *schema.Type, id, at string, w wanted) {
	m.Helper()
	path := m.objectPath(of, id, at)
	m.is(w.get, "GET", path, "")
	m.is(w.get, "HEAD", path, "")
	m.is(204, "OPTIONS", path, "")
	m.is(405, "DELETE", path, "{}")
	if !of.Writable() {
		for _, method := range []string{"POST", "PUT", "PATCH"} {
			m.is(405, method, path, "{}")
		}
		return
	}
	body := `{"objectState": "ACTIVE"}`
	m.is(w.put, "POST", path, body)
	m.is(w.put, "PUT", path, body)
	m.is(w.put, "PATCH", path, body)
	if of.Parent == "" {
		object := fmt.Sprintf(`{"id": %q, "objectState": "ACTIVE"}`, id)
		m.is(w.put, "POST", "/api/v1/"+of.Name+"?context="+at, "["+object+"]")
		m.is(w.put, "PUT", "/api/v1/batch?context="+at, fmt.Sprintf(`{"operations": [{"type": %q, "object": %s}]}`, of.Name, object))
	}
}

// askNew creates an object as far as that goes without storing it.
func (m *matrix) askNew(of *schema.Type, c matrixCaller, at, relation, path string, w wanted) {
	m.Helper()
	object := m.sample(of, "new", at)
	maps.Copy(object, m.related(of, relation, path, at))
	m.is(w.create, "POST", "/api/v1/"+of.Name+"/new?validateOnly=true&context="+at, service.JSONText(object))
}

// askLists expects as many of the objects as are seen one by one.
func (m *matrix) askLists(of *schema.Type, at string, ids []string, seen int, member bool) {
	m.Helper()
	if of.Parent != "" {
		return
	}
	path := "/api/v1/" + of.Name + "?context=" + at + "&id=" + strings.Join(ids, ";")
	status := 200
	if !member {
		status = 403
	}
	a := m.is(status, "GET", path, "")
	m.is(status, "HEAD", path, "")
	m.is(405, "DELETE", path, "")
	page, _ := a.JSON().(map[string]any)
	if status == 200 && (len(service.IDsOf(page)) != seen || fmt.Sprint(page["totalCount"]) != fmt.Sprint(seen)) {
		m.Errorf("%s lists %v of %d objects", path, service.IDsOf(page), seen)
	}
}

// askAccounts asks for users and networks, of which callers see those that they
// share a network with.
func (m *matrix) askAccounts(of *schema.Type, c matrixCaller) {
	member := c.network != nil || c.team != nil
	mine, theirs := "main", "other"
	if c.outside {
		mine, theirs = theirs, mine
	}
	if of.Name == "users" {
		mine, theirs = c.name, strings.Replace(c.name, "out", "none", 1)
		if _, number, _ := strings.Cut(c.name, "."); !c.outside {
			theirs = "out." + number
		}
		member = true
	}
	manages := slices.Contains(c.network, of.Permission) || c.outside
	status := func(is bool, yes, no int) int {
		if is {
			return yes
		}
		return no
	}
	path := "/api/v1/" + of.Name + "/"
	m.is(status(member || c.outside, 200, 404), "GET", path+mine, "")
	m.is(status(member || c.outside, 200, 404), "HEAD", path+mine, "")
	m.is(404, "GET", path+theirs, "")
	m.is(404, "HEAD", path+theirs+"?context=main", "")
	for _, method := range []string{"PUT", "PATCH"} {
		m.is(status(manages, 404, 403), method, path+theirs, `{"objectState": "ACTIVE"}`)
		if of.Name == "networks" {
			m.is(status(manages, 200, 403), method, path+mine, `{"objectState": "ACTIVE"}`)
		}
	}
	m.is(status(manages, 200, 403), "POST", path+"new?validateOnly=true", service.JSONText(m.sample(of, "new", "")))
	m.is(405, "DELETE", path+mine, "")
}
