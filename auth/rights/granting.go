package rights

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// asStored reports whether a change by the service itself, such as an import, is taken as
// it is: bounds do not apply to it.
func asStored(c *engine.Change) bool {
	return c.Internal() || c.Caller.System && !c.Caller.Operator
}

// manageable reports whether a caller manages all networks of a user and has every
// permission of the user there, with scope NETWORK.
func manageable(caller *engine.Caller, user map[string]any, builtIn []string, read func(network, id string) (*roleDocument, error)) (bool, error) {
	for network, roles := range rolesOf(user) {
		grant := caller.Grants[network]
		if len(roles) > 0 && !Manages(grant) {
			return false, nil
		}
		for _, id := range roles {
			role, err := read(network, id)
			if err != nil {
				return false, err
			}
			if role != nil && slices.ContainsFunc(granted(role.Scope, role.Permissions, builtIn), func(p string) bool { return !grant.NetworkPermissions.Has(p) }) {
				return false, nil
			}
		}
	}
	return managesAny(caller), nil
}

// managesStored is manageable for roles as they are stored.
func managesStored(ctx context.Context, s store.Snapshot, caller *engine.Caller, user map[string]any, builtIn []string) (bool, error) {
	return manageable(caller, user, builtIn, func(network, id string) (*roleDocument, error) { return storedRole(ctx, s, network, id) })
}

// checkGranted rejects giving or taking a role that has more permissions than the
// caller.
func checkGranted(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	before, after := rolesOf(c.Before), rolesOf(c.After)
	for _, change := range []struct{ from, to map[string][]string }{{before, after}, {after, before}} {
		for network, roles := range change.to {
			for _, id := range without(roles, change.from[network]) {
				if err := CheckRole(ctx, w, c, network, id, "/userRoles"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// CheckRole returns an error unless the caller may give others a role, which a property
// names. What the caller holds only in scope TEAM cannot be given: a role shows others
// the objects of their teams, and not those of the caller's.
func CheckRole(ctx context.Context, w *engine.Writing, c *engine.Change, network, id, field string) error {
	role, err := readRole(ctx, w, network, id)
	if err != nil || role == nil { // the reference is rejected elsewhere
		return err
	}
	grant := c.Caller.Grants[network]
	roles, _ := w.Type("roles")
	for _, permission := range granted(role.Scope, role.Permissions, roles.BuiltInPermissions()) {
		if !grant.NetworkPermissions.Has(permission) {
			return message.GrantNotHeld.Error(message.Params{"field": field, "value": permission})
		}
	}
	if !Manages(grant) {
		return message.GrantNotHeld.Error(message.Params{"field": field, "value": id})
	}
	if holdsAll(grant) { // the role could be granted whatever its permissions are
		return nil
	}
	return guardNetwork(w, network)
}

// holdsAll reports whether a grant includes whatever permissions a role can have.
func holdsAll(grant engine.Grant) bool { return grant.NetworkPermissions.Has(schema.AllPermissions) }

// readRole returns a role in the state of the transaction, or nil.
func readRole(ctx context.Context, w *engine.Writing, network, id string) (*roleDocument, error) {
	if change, ok := w.Change("roles", network, id); ok {
		scope, _ := change.After["scope"].(string)
		return &roleDocument{Permissions: document.Strings(change.After["permissions"]), Scope: scope}, nil
	}
	return storedRole(ctx, w.Tx(), network, id)
}
