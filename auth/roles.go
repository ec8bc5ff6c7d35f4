package auth

import (
	"context"
	"encoding/json"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// roleBeforeValidate rejects changes of roles that grant, before or after, more than
// the caller has. Removing a permission counts, because all users with the role lose
// it.
func roleBeforeValidate(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if !asStored(c) {
		checkNamed(w, c)
	}
	if c.Internal() || c.Caller.System || unchanged(c) {
		return nil
	}
	grant := c.Caller.Grants[c.Network]
	permissions := c.Type.Permissions()
	var granted []string // or revoked, of those that the caller holds in scope TEAM alone
	for _, role := range []map[string]any{c.Before, c.After} {
		if role == nil {
			continue
		}
		if role["scope"] == "NETWORK" && !manages(grant) {
			return message.GrantNotHeld.Error(message.Params{"field": "/scope", "value": "NETWORK"})
		}
		for _, permission := range texts(role["permissions"]) {
			switch {
			case !slices.Contains(permissions, permission): // which the schema rejects
			case role["scope"] == "NETWORK" && !grant.NetworkPermissions[permission], !holdsFor(grant, permission, affectedBounds(c, permission)):
				return message.GrantNotHeld.Error(message.Params{"field": "/permissions", "value": permission})
			case !grant.NetworkPermissions[permission] && !keeps(c, permission):
				granted = append(granted, permission)
			}
		}
	}
	if len(granted) > 0 {
		if err := guardNetwork(w, c.Network); err != nil {
			return err
		}
		apart, err := heldApart(w, c.Network, c.ID, grant)
		if err == nil && apart {
			err = message.GrantNotHeld.Error(message.Params{"field": "/permissions", "value": granted[0]})
		}
		if err != nil {
			return err
		}
	}
	if c.Before != nil && c.State != c.StateBefore && !grant.Network {
		for _, property := range boundProperties(c.Type) {
			if err := checkSeen(w, c.Type, c.Network, property, texts(c.Before[property]), "/objectState"); err != nil {
				return err
			}
		}
	}
	return checkHiddenKept(w, c, grant)
}

// unchanged reports whether the change has no effect.
func unchanged(c *engine.Change) bool {
	return c.Before != nil && c.State == c.StateBefore && document.Equal(c.Before, c.After)
}

// holdsFor reports whether a caller with a grant holds a permission for the objects that
// a role or a team names, by property. The permission of a role of scope TEAM holds for
// what that role and the caller's teams name.
func holdsFor(grant engine.Grant, permission string, named map[string][]string) bool {
	if grant.NetworkPermissions[permission] {
		return true
	}
	if !grant.TeamPermissions[permission] {
		return false
	}
	holding := slices.DeleteFunc(slices.Clone(grant.TeamRoles), func(role engine.TeamRole) bool { return !role.Permissions[permission] })
	for property, ids := range named {
		if len(without(ids, namedBy(grant, property, holding))) > 0 {
			return false
		}
	}
	return true
}

// keeps reports whether a change of a role leaves its holders a permission.
func keeps(c *engine.Change, permission string) bool {
	grants := func(role map[string]any) bool { return slices.Contains(texts(role["permissions"]), permission) }
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
		before := texts(c.Before[property])
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
		before, after := texts(c.Before[property]), texts(c.After[property])
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

// readRole returns a role in the state of the transaction, or nil.
func readRole(ctx context.Context, w *engine.Writing, network, id string) (*roleDocument, error) {
	if change, ok := w.Change("roles", network, id); ok {
		scope, _ := change.After["scope"].(string)
		return &roleDocument{Permissions: texts(change.After["permissions"]), Scope: scope}, nil
	}
	return storedRole(ctx, w.Tx(), network, id)
}

// storedRole returns a stored role, or nil.
func storedRole(ctx context.Context, s store.Snapshot, network, id string) (*roleDocument, error) {
	var role *roleDocument
	err := s.Get(ctx, "roles", []store.Key{{Network: network, ID: id}}, func(r *store.Record) error {
		role = &roleDocument{}
		return json.Unmarshal(r.Document, role)
	})
	return role, err
}

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
		if err := checkSeen(w, c.Type, c.Network, property, without(texts(c.Before[property]), texts(c.After[property])), "/"+property); err != nil {
			return err
		}
	}
	return nil
}

// checkSeen rejects objects that the caller cannot see, to which a property refers.
func checkSeen(w *engine.Writing, t *schema.Type, network, property string, ids []string, field string) error {
	target, _ := w.Type(t.Shape.Properties[property].Element.Ref.Type)
	for part := range slices.Chunk(ids, 500) {
		hidden, err := w.HasHidden(target, network, in(byID, anyList(part)))
		if err != nil {
			return err
		}
		if hidden {
			return message.GrantUnseen.Error(message.Params{"field": field})
		}
	}
	return nil
}
