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
	if c.Internal() || c.Caller.System || unchanged(c) {
		return nil
	}
	grant := c.Caller.Grants[c.Network]
	permissions := c.Type.Permissions()
	for _, role := range []map[string]any{c.Before, c.After} {
		if role == nil {
			continue
		}
		if role["scope"] == "NETWORK" && !manages(grant) {
			return message.GrantNotHeld.Error(message.Params{"field": "/scope", "value": "NETWORK"})
		}
		for _, permission := range texts(role["permissions"]) {
			if slices.Contains(permissions, permission) && !canGrant(grant, role["scope"], permission) { // the schema rejects others
				return message.GrantNotHeld.Error(message.Params{"field": "/permissions", "value": permission})
			}
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

// canGrant reports whether a caller with a grant can give a permission to a role of a
// scope.
func canGrant(grant engine.Grant, scope any, permission string) bool {
	if scope == "NETWORK" {
		return grant.NetworkPermissions[permission]
	}
	return grant.Holds(permission)
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
