package rights

import (
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// boundProperties returns the properties with which a role or a team lists objects
// other than users, such as the sites of an advertising service.
func boundProperties(t *schema.Type) []string {
	return slices.DeleteFunc(t.References(), func(name string) bool { return name == "users" })
}

// checkHiddenKept rejects a change that removes objects from a role or a team that the
// caller cannot see. Added objects must be visible like any referenced object.
func checkHiddenKept(w *engine.Writing, c *engine.Change, grant engine.Grant) error {
	if grant.Network {
		return nil
	}
	for _, property := range boundProperties(c.Type) {
		if err := checkSeen(w, c.Type, c.Network, property, without(document.Strings(c.Before[property]), document.Strings(c.After[property])), "/"+property); err != nil {
			return err
		}
	}
	return nil
}

// checkSeen rejects objects that the caller cannot see, to which a property refers.
func checkSeen(w *engine.Writing, t *schema.Type, network, property string, ids []string, field string) error {
	target, _ := w.Type(t.Shape.Properties[property].Element.Ref.Type)
	for part := range slices.Chunk(ids, 500) {
		hidden, err := w.HasHidden(target, network, in(byID, document.Array(part)))
		if err != nil {
			return err
		}
		if hidden {
			return message.GrantUnseen.Error(message.Params{"field": field})
		}
	}
	return nil
}

// holdsFor reports whether a caller with a grant holds a permission for the objects that
// a role or a team names, by property. The permission of a role of scope TEAM holds for
// what that role and the caller's teams name.
func holdsFor(grant engine.Grant, permission string, named map[string][]string) bool {
	if grant.NetworkPermissions.Has(permission) {
		return true
	}
	if !grant.TeamPermissions.Has(permission) {
		return false
	}
	holding := slices.DeleteFunc(slices.Clone(grant.TeamRoles), func(role engine.TeamRole) bool { return !role.Permissions.Has(permission) })
	for property, ids := range named {
		if len(without(ids, namedBy(grant, property, holding))) > 0 {
			return false
		}
	}
	return true
}

// keeps reports whether a change of a role leaves its holders a permission.
func keeps(c *engine.Change, permission string) bool {
	grants := func(role map[string]any) bool { return slices.Contains(grantedBy(role, c.Type), permission) }
	return c.Before != nil && c.State == c.StateBefore && c.Before["scope"] == c.After["scope"] && grants(c.Before) && grants(c.After)
}

// affectedBounds returns the objects for which the holders of a changed role gain or lose
// a permission, by the property that names them.
func affectedBounds(c *engine.Change, permission string) map[string][]string {
	if keeps(c, permission) {
		return changedBounds(c)
	}
	affected := changedBounds(c)
	for property, ids := range affected {
		before := document.Strings(c.Before[property])
		affected[property] = slices.Concat(before, without(ids, before))
	}
	return affected
}

// changedBounds returns the objects that a change adds to a role or a team, or removes
// from it, by the property that names them. Added objects that the caller does not see
// are left out: they are refused like any reference to them.
func changedBounds(c *engine.Change) map[string][]string {
	grant := c.Caller.Grants[c.Network]
	changed := map[string][]string{}
	for _, property := range boundProperties(c.Type) {
		before, after := document.Strings(c.Before[property]), document.Strings(c.After[property])
		added := without(after, before)
		if !grant.Network {
			added = without(added, without(added, namedBy(grant, property, grant.TeamRoles)))
		}
		changed[property] = slices.Concat(without(before, after), added)
	}
	return changed
}

// namedBy returns the objects that a property of the caller's teams, or of some of the
// caller's roles, names.
func namedBy(grant engine.Grant, property string, roles []engine.TeamRole) []string {
	named := slices.Clone(grant.Bound[property])
	for _, role := range roles {
		named = append(named, role.Bound[property]...)
	}
	return named
}

// checkNamed rejects a role or a team to which objects are added, beyond maxBound of a
// property.
func checkNamed(w *engine.Writing, c *engine.Change) {
	for _, property := range boundProperties(c.Type) {
		if n := len(document.Strings(c.After[property])); n > maxBound && n > len(document.Strings(c.Before[property])) {
			w.Add(c.Fault(message.TooManyItems, "/"+property, message.Params{"limit": maxBound}))
		}
	}
}

// checkOwn rejects a role of scope OWN that names objects: it shows what belongs to its
// holders.
func checkOwn(w *engine.Writing, c *engine.Change) {
	if c.After["scope"] != ownScope {
		return
	}
	for _, property := range boundProperties(c.Type) {
		if len(document.Strings(c.After[property])) > 0 {
			w.Add(c.Fault(message.TooManyItems, "/"+property, message.Params{"limit": 0}))
		}
	}
}

// checkNamedTogether rejects roles that a user is given if all roles of the user in the
// network name more than maxBound objects of a property.
func checkNamedTogether(w *engine.Writing, c *engine.Change) error {
	t, _ := w.Type("roles")
	properties := boundProperties(t)
	if len(properties) == 0 {
		return nil
	}
	before := rolesOf(c.Before)
	for network, roles := range rolesOf(c.After) {
		if len(without(roles, before[network])) == 0 {
			continue
		}
		property, err := tooMuchNamed(w, t, network, properties, roles)
		if err != nil {
			return err
		}
		if property != "" {
			w.Add(c.Fault(message.RolesTooWide, "/userRoles", message.Params{"context": network, "property": property, "limit": maxBound}))
		}
	}
	return nil
}

// tooMuchNamed returns a property in which the roles of scope TEAM among some name more
// than maxBound objects together, or "".
func tooMuchNamed(w *engine.Writing, t *schema.Type, network string, properties, ids []string) (string, error) {
	named := map[string]int{}
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), rolesAtOnce) {
		roles, err := w.Lookup(t.Name, network, some)
		if err != nil {
			return "", err
		}
		for _, role := range roles {
			if !withinTeams(role.Object["scope"]) {
				continue
			}
			for _, property := range properties {
				named[property] += len(document.Strings(role.Object[property]))
			}
		}
		for _, property := range properties {
			if named[property] > maxBound {
				return property, nil
			}
		}
	}
	return "", nil
}
