package rights

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
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
		if role["scope"] == "NETWORK" && !Manages(grant) {
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
