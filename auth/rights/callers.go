package rights

import (
	"context"

	"marquee/auth/cache"
	"marquee/auth/password"
	"marquee/engine"
	"marquee/engine/store"
)

// Member is an ACTIVE user with their rights.
type Member struct {
	Caller *engine.Caller
	// Credential is the revision of the user's password; a token is valid for one.
	Credential int64
}

// Callers finds users with their rights, and remembers them until a user, role, team,
// network or password changes.
type Callers struct {
	members *cache.Values[string, *Member]
	builtIn []string
}

// namedPerWeight is the number of named objects that take as much memory as a caller;
// a set of permissions takes as much as setWeight of them.
const (
	namedPerWeight = 100
	setWeight      = 8
)

// Weight returns what a caller counts towards cache.Most: more with roles in many networks,
// and with roles and teams that name many objects.
func Weight(c *engine.Caller) int {
	named := len(c.Dormant)
	for _, grant := range c.Grants {
		named += 3*setWeight + len(grant.Teams)
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

// NewCallers returns the Callers of a store. A role with all of the built-in permissions
// has every permission.
func NewCallers(s store.Store, builtIn []string) *Callers {
	weigh := func(m *Member) int { return Weight(m.Caller) }
	return &Callers{cache.New[string, *Member](s, weigh, "users", "roles", "teams", "networks", password.Collection), builtIn}
}

// Stats are those of the cache.
func (c *Callers) Stats() cache.Stats { return c.members.Stats() }

// Find returns the ACTIVE user with an id, or nil.
func (c *Callers) Find(ctx context.Context, id string) (*Member, error) {
	return c.members.Find(ctx, id, func(s store.Snapshot) (*Member, bool, error) {
		m, err := ReadMember(ctx, s, id, c.builtIn)
		if err == nil && m != nil {
			err = addTeams(ctx, s, m.Caller)
		}
		return m, m != nil, err
	})
}

// ReadMember reads the ACTIVE user with an id, without the user's teams, and returns nil if there
// is none. BuiltIn are the built-in permissions, as in NewCallers.
func ReadMember(ctx context.Context, s store.Snapshot, id string, builtIn []string) (*Member, error) {
	var user userDocument
	record, err := store.ReadOne(ctx, s, "users", store.Key{ID: id}, &user)
	if err != nil || record.State != "ACTIVE" {
		return nil, err
	}
	m := &Member{Caller: &engine.Caller{User: id}}
	if _, m.Credential, err = password.Stored(ctx, s, id); err != nil {
		return nil, err
	}
	return m, grantTo(ctx, s, m.Caller, &user, builtIn)
}

// ReadRole gives a caller the rights of one role alone, if it is ACTIVE.
func ReadRole(ctx context.Context, s store.Snapshot, caller *engine.Caller, network, role string, builtIn []string) error {
	user := &userDocument{}
	user.UserRoles.RolesByNetwork = []networkRoles{{Network: network, Roles: []userRole{{Role: role}}}}
	if err := grantTo(ctx, s, caller, user, builtIn); err != nil {
		return err
	}
	return addTeams(ctx, s, caller)
}
