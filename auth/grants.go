package auth

import (
	"context"
	"encoding/json"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Hooks are the rules of the types that grant access: nobody can grant what he
// does not hold.
func (s *Service) Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"users":    {Prepare: s.preparePassword, Merged: engine.Each(s.userMerged), Written: engine.Each(s.userWritten), Shown: userShown, Hidden: []string{"userRoles"}},
		"roles":    {Merged: engine.Each(roleMerged)},
		"networks": {Prepare: networkPrepared, Written: engine.Each(networkWritten)},
	}
}

// roleMerged lets a caller put into a role only what he holds himself. Who
// manages within the scope TEAM alone leaves roles of the whole network alone.
func roleMerged(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if c.Internal() || c.Caller.System {
		return nil
	}
	grant := c.Caller.Grants[c.Network]
	if c.Before["scope"] == "NETWORK" && !manages(grant) {
		return message.PermissionMissing.Error(message.Params{"type": c.Type.Name, "permission": ManageSystem})
	}
	before, after := texts(c.Before["permissions"]), texts(c.After["permissions"])
	// A role that grants again what it had ceased to grant is a wider one too.
	wider := c.After["scope"] == "NETWORK" && (c.Before == nil || c.Before["scope"] != "NETWORK") ||
		c.Before != nil && c.StateBefore != "ACTIVE" && c.State == "ACTIVE"
	for _, permission := range after {
		if !slices.Contains(Permissions, permission) {
			continue // a fault that the schema finds
		}
		if added := !slices.Contains(before, permission); (added || wider) && !grants(grant, c.After["scope"], permission) {
			return message.GrantNotHeld.Error(message.Params{"field": "/permissions", "value": permission})
		}
	}
	if wider && c.After["scope"] == "NETWORK" && !grant.Network {
		return message.GrantNotHeld.Error(message.Params{"field": "/scope", "value": "NETWORK"})
	}
	return nil
}

// grants reports whether the holder of a grant can pass a permission on in a
// role of a scope.
func grants(grant engine.Grant, scope any, permission string) bool {
	if scope == "NETWORK" {
		return grant.NetworkPermissions[permission]
	}
	return grant.Holds(permission)
}

func texts(value any) []string {
	items, _ := value.([]any)
	list := make([]string, 0, len(items))
	for _, item := range items {
		if text, ok := item.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

// networkPrepared chooses the id of the first role of a new network, so that
// it stays when the transaction runs again.
func networkPrepared(ctx context.Context, c *engine.Change) error {
	c.Kept = engine.NewID()
	return nil
}

// networkWritten gives whoever creates a network a role with every permission
// there, in the same transaction.
func networkWritten(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	role, ok := c.Kept.(string)
	if !ok || !c.Created() || c.Internal() || c.Caller.System {
		return nil
	}
	roles, _ := w.Type("roles")
	users, _ := w.Type("users")
	w.Upsert(roles, c.ID, role, func(object map[string]any) {
		object["name"], object["scope"] = "Administrator", "NETWORK"
		object["permissions"] = anyList(Permissions)
	})
	w.Upsert(users, "", c.Caller.User, func(object map[string]any) {
		userRoles, _ := document.Clone(object["userRoles"]).(map[string]any)
		if userRoles == nil {
			userRoles = map[string]any{}
		}
		list, _ := userRoles["rolesByNetwork"].([]any)
		userRoles["rolesByNetwork"] = append(list, map[string]any{
			"network": c.ID, "roles": []any{map[string]any{"role": role}}})
		object["userRoles"] = userRoles
	})
	return nil
}

func anyList(list []string) []any {
	items := make([]any, len(list))
	for i, item := range list {
		items[i] = item
	}
	return items
}

// userShown hides a user's roles in networks that the caller does not manage;
// everybody sees his own.
func userShown(caller *engine.Caller, r *store.Record) error {
	if caller.System || r.ID == caller.User {
		return nil
	}
	object, err := document.DecodeObject(r.Document, document.Limits{})
	if err != nil {
		return err
	}
	userRoles, _ := object["userRoles"].(map[string]any)
	list, _ := userRoles["rolesByNetwork"].([]any)
	shown := slices.DeleteFunc(list, func(entry any) bool {
		return !manages(caller.Grants[networkOf(entry)])
	})
	if len(shown) != len(list) {
		userRoles["rolesByNetwork"] = shown
		r.Document = document.Append(nil, object)
	}
	return nil
}

func networkOf(entry any) string {
	members, _ := entry.(map[string]any)
	network, _ := members["network"].(string)
	return network
}

// rolesOf lists a user's roles by network, with an entry for each network that
// he is listed in, even without a role.
func rolesOf(object map[string]any) map[string][]string {
	roles := map[string][]string{}
	userRoles, _ := object["userRoles"].(map[string]any)
	list, _ := userRoles["rolesByNetwork"].([]any)
	for _, entry := range list {
		network := networkOf(entry)
		members, _ := entry.(map[string]any)
		held, _ := members["roles"].([]any)
		if roles[network] == nil {
			roles[network] = []string{}
		}
		for _, item := range held {
			role, _ := item.(map[string]any)
			if id, ok := role["role"].(string); ok {
				roles[network] = append(roles[network], id)
			}
		}
	}
	return roles
}

// userMerged holds a change of a user against what the caller may grant and
// manage. A posted userRoles replaces only the entries of networks that the
// caller manages.
func (s *Service) userMerged(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if c.Internal() || c.Caller.System {
		s.touchPassword(c)
		return nil
	}
	if _, posted := c.Patch["userRoles"]; posted {
		if err := mergeRoles(c); err != nil {
			return err
		}
	}
	if err := checkGranted(ctx, w, c); err != nil {
		return err
	}
	s.touchPassword(c)
	if c.Before == nil || c.ID == c.Caller.User {
		return nil
	}
	_, password := c.Patch["password"].(string)
	for field, changed := range map[string]bool{
		"/username":    c.Before["username"] != c.After["username"],
		"/objectState": c.State != c.StateBefore,
		"/password":    password, // even one that changes nothing, or he could guess until it does not
	} {
		if !changed {
			continue
		}
		if managed, err := manageable(ctx, w, c); err != nil {
			return err
		} else if !managed {
			return message.UserNotManaged.Error(message.Params{"field": field})
		}
	}
	return nil
}

func mergeRoles(c *engine.Change) error {
	if !wellFormed(c.After["userRoles"]) {
		return nil // a fault that the schema finds, and so nothing is stored
	}
	before, after := rolesOf(c.Before), rolesOf(c.After)
	held, kept := splitEntries(c.Caller, c.Before)
	posted, others := splitEntries(c.Caller, c.After)
	for _, entry := range others {
		if network := networkOf(entry); !slices.Equal(before[network], after[network]) {
			return message.NetworkNotManaged.Error(message.Params{"field": "/userRoles", "context": network})
		}
	}
	merged := slices.Concat(kept, posted)
	if document.Equal(held, posted) { // what was read and is posted back keeps its order
		merged = entriesOf(c.Before)
	}
	userRoles, _ := document.Clone(c.After["userRoles"]).(map[string]any)
	if userRoles == nil {
		userRoles = map[string]any{}
	}
	if merged == nil {
		merged = []any{}
	}
	if c.After["userRoles"] != nil || len(merged) > 0 {
		userRoles["rolesByNetwork"] = merged
		c.After["userRoles"] = userRoles
	}
	return nil
}

// splitEntries tells a user's entries of networks that the caller manages from
// the others.
func splitEntries(caller *engine.Caller, object map[string]any) (managed, others []any) {
	for _, entry := range entriesOf(object) {
		if manages(caller.Grants[networkOf(entry)]) {
			managed = append(managed, entry)
		} else {
			others = append(others, entry)
		}
	}
	return managed, others
}

// wellFormed reports whether each entry of posted userRoles names a network.
func wellFormed(userRoles any) bool {
	members, ok := userRoles.(map[string]any)
	list, set := members["rolesByNetwork"]
	entries, listed := list.([]any)
	return userRoles == nil || ok && (!set || listed) &&
		!slices.ContainsFunc(entries, func(entry any) bool { return networkOf(entry) == "" })
}

func entriesOf(object map[string]any) []any {
	userRoles, _ := object["userRoles"].(map[string]any)
	list, _ := userRoles["rolesByNetwork"].([]any)
	return list
}

// checkGranted refuses roles that hold more than the caller does.
func checkGranted(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	before := rolesOf(c.Before)
	for network, roles := range rolesOf(c.After) {
		for _, id := range roles {
			if slices.Contains(before[network], id) {
				continue
			}
			role, err := readRole(ctx, w, network, id)
			if err != nil {
				return err
			}
			if role == nil {
				continue // a fault of the reference
			}
			grant := c.Caller.Grants[network]
			for _, permission := range role.Permissions {
				if !grants(grant, role.Scope, permission) {
					return message.GrantNotHeld.Error(message.Params{"field": "/userRoles", "value": permission})
				}
			}
			if !manages(grant) || role.Scope == "NETWORK" && !grant.Network {
				return message.GrantNotHeld.Error(message.Params{"field": "/userRoles", "value": id})
			}
		}
	}
	return nil
}

// readRole reads a role as it is, or as the same transaction makes it.
func readRole(ctx context.Context, w *engine.Writing, network, id string) (*roleDocument, error) {
	if change, ok := w.Change("roles", network, id); ok {
		scope, _ := change.After["scope"].(string)
		return &roleDocument{Permissions: texts(change.After["permissions"]), Scope: scope}, nil
	}
	var role *roleDocument
	err := w.Tx().Get(ctx, "roles", []store.Key{{Network: network, ID: id}}, func(r *store.Record) error {
		role = &roleDocument{}
		return json.Unmarshal(r.Document, role)
	})
	return role, err
}

// manageable reports whether the caller manages all networks of the user and
// holds every permission that he holds.
func manageable(ctx context.Context, w *engine.Writing, c *engine.Change) (bool, error) {
	for network, roles := range rolesOf(c.Before) {
		grant := c.Caller.Grants[network]
		if !manages(grant) {
			return false, nil
		}
		for _, id := range roles {
			role, err := readRole(ctx, w, network, id)
			if err != nil {
				return false, err
			}
			if role != nil && slices.ContainsFunc(role.Permissions, func(p string) bool { return !grants(grant, role.Scope, p) }) {
				return false, nil
			}
		}
	}
	return managesAny(c.Caller), nil
}
