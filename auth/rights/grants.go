package rights

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// Roles and teams name objects, such as the sites of an advertising service. What the
// roles of a user name in a network is bounded when rights are read, because each query
// of the user has all of it, and so are the teams of a user. Writes that would exceed a
// bound are refused where they concern one user, role or team. A role that many users
// hold can still grow; those users then see a part of the objects that it names.
//
// Of a user's ACTIVE teams in a network, the maxTeams that were created first count, and
// for each property, the first maxBound objects that they name. Of the objects that the
// roles of a user name in a network, the first maxBound of each property count, in the
// order of the ids of the roles.
const (
	maxTeams = 1000
	maxBound = 10_000
)

// rolesAtOnce is the number of roles that are read together, as a single one can name
// many objects.
const rolesAtOnce = 20

// grantTo gives a caller the rights of a user's roles, without teams. Roles that are not ACTIVE,
// and roles in networks that are not, grant nothing, except that the managers of such a
// network can make it ACTIVE again.
func grantTo(ctx context.Context, s store.Snapshot, caller *engine.Caller, user *userDocument, builtIn []string) error {
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
	return readRoles(ctx, s, roles, func(network string, role roleDocument) {
		role.Permissions = granted(role.Scope, role.Permissions, builtIn)
		if active[network] {
			caller.Grants[network] = withRole(caller.Grants[network], role)
		} else if Manages(withRole(engine.Grant{}, role)) {
			caller.Dormant[network] = true
		}
	})
}

// withRole adds a role to a grant. Of what the roles name, the first maxBound objects of
// a property count.
func withRole(grant engine.Grant, role roleDocument) engine.Grant {
	if grant.NetworkPermissions == nil {
		grant.NetworkPermissions, grant.TeamPermissions, grant.OwnPermissions = engine.Permissions{}, engine.Permissions{}, engine.Permissions{}
	}
	permissions := grant.OwnPermissions
	switch role.Scope {
	case networkScope:
		grant.Network, permissions = true, grant.NetworkPermissions
	case ownScope:
		grant.Own = true
	default:
		alone := engine.Permissions{}
		for _, permission := range role.Permissions {
			alone[permission] = true
		}
		grant.Team, permissions = true, grant.TeamPermissions
		grant.TeamRoles = append(grant.TeamRoles, engine.TeamRole{Permissions: alone, Bound: bounded(role.bound, grant.TeamRoles)})
	}
	for _, permission := range role.Permissions {
		permissions[permission] = true
	}
	return grant
}

// readRoles yields the ACTIVE roles among some, in the order of their networks and ids,
// except those with a scope that only a later version knows: they may show less than others.
func readRoles(ctx context.Context, s store.Snapshot, keys []store.Key, yield func(network string, role roleDocument)) error {
	slices.SortFunc(keys, func(a, b store.Key) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.ID, b.ID))
	})
	for some := range slices.Chunk(slices.Compact(keys), rolesAtOnce) {
		found := map[store.Key]roleDocument{}
		err := s.Get(ctx, "roles", some, func(r *store.Record) error {
			if r.State != "ACTIVE" {
				return nil
			}
			var role roleDocument
			err := json.Unmarshal(r.Document, &role)
			switch {
			case err != nil:
				return err
			case withinTeams(role.Scope):
				role.bound, err = boundBy(r.Document)
			case role.Scope != networkScope && role.Scope != ownScope:
				return nil
			}
			found[store.Key{Network: strings.Clone(r.Network), ID: strings.Clone(r.ID)}] = role
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range some {
			if role, ok := found[key]; ok {
				yield(key.Network, role)
			}
		}
	}
	return nil
}

// bounded returns what a role names without what exceeds maxBound together with other
// roles.
func bounded(named map[string][]string, others []engine.TeamRole) map[string][]string {
	kept := make(map[string][]string, len(named))
	for property, ids := range named {
		room := maxBound
		for _, other := range others {
			room -= len(other.Bound[property])
		}
		kept[property] = slices.Clone(ids[:min(len(ids), room)])
	}
	return kept
}

// addTeams adds the ACTIVE teams of a caller to the grants with roles of scope TEAM, and what
// these teams name.
func addTeams(ctx context.Context, s store.Snapshot, caller *engine.Caller) error {
	for _, network := range slices.Sorted(maps.Keys(caller.Grants)) {
		grant := caller.Grants[network]
		if !grant.Team {
			continue
		}
		q := query.Query{Collection: "teams", Network: network, Order: store.OldestFirst,
			Where: query.And{query.Compare{Field: byMember, Op: query.Equal, Value: caller.User}, isActive}}
		grant.Bound = map[string][]string{}
		err := store.FindAll(ctx, s, q, maxTeams, func(r *store.Record) error {
			grant.Teams = append(grant.Teams, r.ID)
			bound, err := boundBy(r.Document)
			for property, ids := range bound {
				room := max(0, maxBound-len(grant.Bound[property]))
				grant.Bound[property] = append(grant.Bound[property], ids[:min(len(ids), room)]...)
			}
			return err
		})
		if err != nil {
			return err
		}
		caller.Grants[network] = grant
	}
	return nil
}

// boundBy returns the lists of a stored role or team that may name objects, by property.
func boundBy(doc []byte) (map[string][]string, error) {
	object, err := document.DecodeObject(doc, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	bound := map[string][]string{}
	for name, value := range object {
		switch name {
		case "users", "labels", "permissions":
			continue
		}
		if ids := document.Strings(value); len(ids) > 0 {
			bound[name] = ids[:min(len(ids), maxBound)]
		}
	}
	return bound, nil
}

func networksOf(caller *engine.Caller, which func(engine.Grant) bool) []any {
	var networks []any
	for network, grant := range caller.Grants {
		if which(grant) {
			networks = append(networks, network)
		}
	}
	slices.SortFunc(networks, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return networks
}

// Manages reports whether a grant has the permission to manage the network.
func Manages(grant engine.Grant) bool { return grant.NetworkPermissions.Has(ManageSystem) }

func managesAny(caller *engine.Caller) bool { return len(networksOf(caller, Manages)) > 0 }
