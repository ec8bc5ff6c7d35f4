package auth

import (
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// ManageSystem is the permission to manage networks, users, roles and teams, which
// every application has.
const ManageSystem = "MANAGE_SYSTEM"

// Access implements engine.Access by the roles of callers.
type Access struct{}

var (
	byID      = query.Field{System: query.ID}
	byCreator = query.Field{System: query.CreateUser}
	// byUserNetwork finds the users that have a role in a network.
	byUserNetwork = query.Field{Term: "userRoles.rolesByNetwork.network", Path: []query.Step{
		{Name: "userRoles"}, {Name: "rolesByNetwork", Array: true}, {Name: "network"}}}
)

// Visible implements engine.Access. A caller whose roles have the scope TEAM sees
// only types that do not belong to teams.
func (Access) Visible(caller *engine.Caller, t *schema.Type, network string) query.Expr {
	switch {
	case caller.System:
		return query.All
	case t.Name == "networks":
		visible := networksOf(caller, func(engine.Grant) bool { return true })
		for _, dormant := range slices.Sorted(maps.Keys(caller.Dormant)) {
			visible = append(visible, dormant)
		}
		return in(byID, visible)
	case t.Name == "users":
		return visibleUsers(caller)
	case t.Global:
		return query.All
	}
	grant, ok := caller.Grants[network]
	switch {
	case !ok:
		return query.None
	case grant.Network, len(t.Team) == 0:
		return query.All
	}
	return query.None
}

// visibleUsers matches the caller, the users with a role in a network of the caller,
// and the users without a role that the caller has created and can give one.
func visibleUsers(caller *engine.Caller) query.Expr {
	by := func(field query.Field) query.Expr {
		return query.Compare{Field: field, Op: query.Equal, Value: caller.User}
	}
	return query.Or{
		in(byUserNetwork, networksOf(caller, func(engine.Grant) bool { return true })),
		by(byID),
		query.And{query.Null{Field: byUserNetwork}, by(byCreator)},
	}
}

// Within implements engine.Access: users belong to the networks where they have a
// role.
func (Access) Within(t *schema.Type, network string) query.Expr {
	if t.Name == "users" {
		return query.Compare{Field: byUserNetwork, Op: query.Equal, Value: network}
	}
	return nil
}

func in(field query.Field, values []any) query.Expr {
	if len(values) == 0 {
		return query.None
	}
	return query.In{Field: field, Values: values}
}

func networksOf(caller *engine.Caller, which func(engine.Grant) bool) []any {
	var networks []any
	for network, grant := range caller.Grants {
		if which(grant) {
			networks = append(networks, network)
		}
	}
	slices.SortFunc(networks, func(a, b any) int {
		if a.(string) < b.(string) {
			return -1
		}
		return 1
	})
	return networks
}

func manages(grant engine.Grant) bool { return grant.NetworkPermissions[ManageSystem] }

func managesAny(caller *engine.Caller) bool { return len(networksOf(caller, manages)) > 0 }

// MayWrite implements engine.Access.
func (Access) MayWrite(caller *engine.Caller, t *schema.Type, network, id string, exists bool) error {
	if caller.System || t.Name == "users" && id == caller.User {
		return nil
	}
	allowed := holds(caller, t, network)
	if t.Name == "networks" && exists {
		grant, member := caller.Grants[id]
		if allowed && !member && !caller.Dormant[id] { // do not reveal whether it exists
			return message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
		}
		allowed = manages(grant) || caller.Dormant[id]
	}
	if !allowed {
		return message.PermissionMissing.Error(message.Params{"type": t.Name, "permission": t.Permission})
	}
	return nil
}

// MayWriteSome implements engine.Access.
func (a Access) MayWriteSome(caller *engine.Caller, t *schema.Type, network string) error {
	if t.Name == "users" || t.Name == "networks" && len(caller.Dormant) > 0 { // of which the caller may write one
		return nil
	}
	return a.MayWrite(caller, t, network, "", false)
}

// holds reports whether a caller has the permission to write objects of a type in a
// network. A permission of scope TEAM applies to the types visible in that scope. For
// a global type, the permission counts in whichever network it is held.
func holds(caller *engine.Caller, t *schema.Type, network string) bool {
	if t.Global {
		return len(networksOf(caller, func(grant engine.Grant) bool { return grant.NetworkPermissions[t.Permission] })) > 0
	}
	grant := caller.Grants[network]
	return grant.NetworkPermissions[t.Permission] || grant.TeamPermissions[t.Permission] && len(t.Team) == 0
}

// MayReadSecrets implements engine.Access.
func (Access) MayReadSecrets(caller *engine.Caller, t *schema.Type, network string) bool {
	return caller.System || holds(caller, t, network)
}

// MayReadHistory implements engine.Access. The history of global types, such as users
// and networks, requires the permission to manage them.
func (Access) MayReadHistory(caller *engine.Caller, t *schema.Type, network string) error {
	if t != nil && t.Global && !caller.System && !manages(caller.Grants[network]) {
		return message.ReadForbidden.Error(message.Params{"type": "audit", "permission": ManageSystem})
	}
	return nil
}
