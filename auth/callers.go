package auth

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"marquee/auth/password"
	"marquee/auth/signing"
	"marquee/engine"
	"marquee/engine/store"
)

// The internal collections of this package.
const (
	refreshCollection = "auth_refresh"
	sessionCollection = "auth_sessions"
	secretCollection  = "auth_secrets"
)

// Collections returns the collections that the store must have for this package.
func Collections() []store.Collection {
	return slices.Concat(password.Collections(), signing.Collections(), []store.Collection{{Name: refreshCollection},
		{Name: sessionCollection}, {Name: secretCollection}, {Name: userSessionCollection}, {Name: tokenCollection}, {Name: useCollection}})
}

// userDocument is the part of a stored user that this package reads.
type userDocument struct {
	Username  string `json:"username"`
	UserRoles struct {
		RolesByNetwork []networkRoles `json:"rolesByNetwork"`
	} `json:"userRoles"`
}

type networkRoles struct {
	Network string     `json:"network"`
	Roles   []userRole `json:"roles"`
}

type userRole struct {
	Role string `json:"role"`
}

// roleDocument is the part of a stored role that this package reads.
type roleDocument struct {
	Permissions []string `json:"permissions"`
	Scope       string   `json:"scope"`
	// bound are the objects that the role names, by property.
	bound map[string][]string
}

// member is an active user with their rights.
type member struct {
	caller *engine.Caller
	// credential is the revision of the user's password; a token is valid for one.
	credential int64
}

// callers finds users with their rights, and remembers them until a user, role, team,
// network or password changes.
type callers struct{ kept kept[string, *member] }

// maxKept is the number of users that are remembered, fewer if they have roles in many
// networks, or if their roles and teams name many objects.
const maxKept = 10_000

// namedPerWeight is the number of named objects that take as much memory as a caller;
// a set of permissions takes as much as setWeight of them.
const (
	namedPerWeight = 100
	setWeight      = 8
)

// weightOf returns what a caller counts towards maxKept.
func weightOf(c *engine.Caller) int {
	named := len(c.Dormant)
	for _, grant := range c.Grants {
		named += 2*setWeight + len(grant.Teams)
		for _, ids := range grant.Bound {
			named += len(ids)
		}
		for _, role := range grant.TeamRoles {
			named += setWeight
			for _, ids := range role.Bound {
				named += len(ids)
			}
		}
	}
	return 1 + named/namedPerWeight
}

func newCallers(s store.Store) *callers {
	c := &callers{kept[string, *member]{store: s, collections: []string{"users", "roles", "teams", "networks", password.Collection}}}
	c.kept.entries.Most = maxKept
	c.kept.entries.Weigh = func(e entry[*member]) int { return weightOf(e.value.caller) }
	return c
}

// find returns the active user with an id, or nil.
func (c *callers) find(ctx context.Context, id string) (*member, error) {
	return c.kept.find(ctx, id, func(s store.Snapshot) (*member, bool, error) {
		m, err := readMember(ctx, s, id)
		return m, m != nil, err
	})
}

func readMember(ctx context.Context, s store.Snapshot, id string) (*member, error) {
	var user *userDocument
	err := s.Get(ctx, "users", []store.Key{{ID: id}}, func(r *store.Record) error {
		if r.State != "ACTIVE" {
			return nil
		}
		user = &userDocument{}
		return json.Unmarshal(r.Document, user)
	})
	if err != nil || user == nil {
		return nil, err
	}
	m := &member{caller: &engine.Caller{User: id}}
	if _, m.credential, err = password.Stored(ctx, s, id); err != nil {
		return nil, err
	}
	return m, grantTo(ctx, s, m.caller, user)
}

// grantTo gives a caller the rights of a user's roles. Roles that are not ACTIVE, and
// roles in networks that are not, grant nothing, except that the managers of such a
// network can make it ACTIVE again.
func grantTo(ctx context.Context, s store.Snapshot, caller *engine.Caller, user *userDocument) error {
	caller.Grants, caller.Dormant = map[string]engine.Grant{}, map[string]bool{}
	var networks, roles []store.Key
	for _, entry := range user.UserRoles.RolesByNetwork {
		networks = append(networks, store.Key{ID: entry.Network})
		for _, role := range entry.Roles {
			roles = append(roles, store.Key{Network: entry.Network, ID: role.Role})
		}
	}
	if len(roles) == 0 {
		return nil
	}
	active := map[string]bool{}
	err := s.Get(ctx, "networks", networks, func(r *store.Record) error {
		active[r.ID] = r.State == "ACTIVE"
		return nil
	})
	if err != nil {
		return err
	}
	err = readRoles(ctx, s, roles, func(network string, role roleDocument) {
		if active[network] {
			caller.Grants[network] = withRole(caller.Grants[network], role)
		} else if manages(withRole(engine.Grant{}, role)) {
			caller.Dormant[network] = true
		}
	})
	if err != nil {
		return err
	}
	for _, network := range slices.Sorted(maps.Keys(caller.Grants)) {
		grant := caller.Grants[network]
		if !grant.Team {
			continue
		}
		if err := withTeams(ctx, s, caller.User, network, &grant); err != nil {
			return err
		}
		caller.Grants[network] = grant
	}
	return nil
}

// withRole adds a role to a grant. Of what the roles name, the first maxBound objects of
// a property count.
func withRole(grant engine.Grant, role roleDocument) engine.Grant {
	if grant.NetworkPermissions == nil {
		grant.NetworkPermissions, grant.TeamPermissions = map[string]bool{}, map[string]bool{}
	}
	permissions := grant.TeamPermissions
	if role.Scope == "NETWORK" {
		grant.Network, permissions = true, grant.NetworkPermissions
	} else {
		own := map[string]bool{}
		for _, permission := range role.Permissions {
			own[permission] = true
		}
		grant.Team, grant.TeamRoles = true, append(grant.TeamRoles, engine.TeamRole{Permissions: own, Bound: bounded(role.bound, grant.TeamRoles)})
	}
	for _, permission := range role.Permissions {
		permissions[permission] = true
	}
	return grant
}
