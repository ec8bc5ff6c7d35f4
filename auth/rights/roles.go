package rights

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
)

// roleBeforeValidate rejects changes of roles that grant, before or after, more than
// the caller has. Removing a permission counts, because all users with the role lose
// it.
func roleBeforeValidate(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if !asStored(c) {
		checkNamed(w, c)
		checkOwn(w, c)
		checkDeclared(w, c)
	}
	if c.Internal() || c.Caller.System || unchanged(c) {
		return nil
	}
	grant := c.Caller.Grants[c.Network]
	declared := append([]string{schema.AllPermissions}, c.Type.Permissions()...)
	before := document.Strings(c.Before["permissions"])
	var granted []string // or revoked, of those that the caller holds in scope TEAM alone
	for _, role := range []map[string]any{c.Before, c.After} {
		if role == nil {
			continue
		}
		scope := role["scope"]
		if _, text := scope.(string); text && !withinTeams(scope) && !Manages(grant) {
			return message.GrantNotHeld.Error(message.Params{"field": "/scope", "value": scope})
		}
		for _, permission := range grantedBy(role, c.Type) {
			switch {
			case !slices.Contains(declared, permission) && !slices.Contains(before, permission): // which checkDeclared rejects
			case !withinTeams(scope) && !grant.NetworkPermissions.Has(permission), !holdsFor(grant, permission, affectedBounds(c, permission)):
				return message.GrantNotHeld.Error(message.Params{"field": "/permissions", "value": permission})
			case !grant.NetworkPermissions.Has(permission) && !keeps(c, permission):
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
			if err := checkSeen(w, c.Type, c.Network, property, document.Strings(c.Before[property]), "/objectState"); err != nil {
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
