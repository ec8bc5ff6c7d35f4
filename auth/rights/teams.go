package rights

import (
	"context"
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
)

// validateTeams rejects a change of a team if its members would gain or lose rights
// that the caller does not have: permissions of scope TEAM apply to the objects of the
// team. It runs after the users of the same transaction have been merged.
func validateTeams(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	affected := map[*engine.Change][]string{}
	users := map[string]bool{}
	for _, c := range changes {
		if !asStored(c) {
			checkNamed(w, c)
		}
		if c.Internal() || c.Caller.System {
			continue
		}
		grant := c.Caller.Grants[c.Network]
		members, err := affectedMembers(w, c, grant)
		if err != nil {
			return err
		}
		if holdsAll(grant) {
			continue
		}
		if len(members) > 0 {
			if err := guardNetwork(w, c.Network); err != nil {
				return err
			}
		}
		affected[c] = members
		for _, id := range members {
			users[id] = true
		}
	}
	if len(users) == 0 {
		return nil
	}
	held, err := teamPermissions(w, slices.Sorted(maps.Keys(users)))
	if err != nil {
		return err
	}
	for _, c := range changes {
		for _, id := range affected[c] {
			for _, permission := range held[memberOf{c.Network, id}] {
				if !holdsForTeam(c, permission) {
					return message.GrantNotHeld.Error(message.Params{"field": "/users", "value": permission})
				}
			}
		}
	}
	return nil
}

// holdsForTeam reports whether the caller holds a permission for what the members of a
// team gain or lose by a change: the objects that belong to the team, and those that it
// names.
func holdsForTeam(c *engine.Change, permission string) bool {
	grant := c.Caller.Grants[c.Network]
	own := c.Before == nil || slices.Contains(grant.Teams, c.ID) // nothing belongs to a new team
	return grant.NetworkPermissions.Has(permission) || own && holdsFor(grant, permission, changedBounds(c))
}

// affectedMembers returns the users whose rights a change of a team affects.
func affectedMembers(w *engine.Writing, c *engine.Change, grant engine.Grant) ([]string, error) {
	before, after := document.Strings(c.Before["users"]), document.Strings(c.After["users"])
	members := slices.Concat(without(before, after), without(after, before))
	rebound := false
	for _, ids := range changedBounds(c) {
		rebound = rebound || len(ids) > 0
	}
	if rebound || c.Before != nil && c.State != c.StateBefore {
		members = slices.Concat(without(before, after), after)
	} else if len(members) == 0 {
		return nil, nil
	}
	// Only members of the ACTIVE team and callers of scope NETWORK see its objects.
	if c.Before != nil && !grant.Network && !slices.Contains(grant.Teams, c.ID) {
		return nil, message.GrantUnseen.Error(message.Params{"field": "/users"})
	}
	return members, checkHiddenKept(w, c, grant)
}

type memberOf struct{ network, user string }

// teamPermissions returns the permissions of users in scope TEAM of each network.
func teamPermissions(w *engine.Writing, ids []string) (map[memberOf][]string, error) {
	users, err := w.Lookup("users", "", ids)
	if err != nil {
		return nil, err
	}
	wanted := map[string]map[string]bool{}
	for _, user := range users {
		for network, roles := range rolesOf(user.Object) {
			if wanted[network] == nil {
				wanted[network] = map[string]bool{}
			}
			for _, id := range roles {
				wanted[network][id] = true
			}
		}
	}
	granted := map[memberOf][]string{} // by network and role
	for network, ids := range wanted {
		roles, err := w.Lookup("roles", network, slices.Sorted(maps.Keys(ids)))
		if err != nil {
			return nil, err
		}
		for id, role := range roles {
			if withinTeams(role.Object["scope"]) {
				granted[memberOf{network, id}] = document.Strings(role.Object["permissions"])
			}
		}
	}
	held := map[memberOf][]string{}
	for id, user := range users {
		for network, roles := range rolesOf(user.Object) {
			for _, role := range roles {
				key := memberOf{network, id}
				held[key] = append(held[key], granted[memberOf{network, role}]...)
			}
		}
	}
	return held, nil
}
