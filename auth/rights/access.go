package rights

import (
	"maps"
	"slices"
	"strings"

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

// Visible implements engine.Access. A caller whose roles have the scope TEAM sees the
// objects of the caller's teams, those that belong to what these teams or the roles
// name, those that belong to no team, and all objects of types without teams. Roles of
// the scope OWN add what belongs to the caller.
func (a Access) Visible(caller *engine.Caller, t *schema.Type, network string) query.Expr {
	switch {
	case caller.System:
		return query.All
	case caller.Anonymous:
		return query.None
	case t.Read != "" && !holds(caller, t, network, t.Read):
		return query.None
	case t.Name == "networks":
		visible := networksOf(caller, func(engine.Grant) bool { return true })
		for _, dormant := range slices.Sorted(maps.Keys(caller.Dormant)) {
			visible = append(visible, dormant)
		}
		return in(byID, visible)
	case t.Name == "users":
		return visibleUsers(caller)
	case t.Global:
		return visibleGlobals(caller)
	}
	grant, ok := caller.Grants[network]
	if !ok || t.Name == "tokens" && !Manages(grant) {
		return query.None
	}
	return shown(caller, t, grant, t.Read)
}

// shown matches the objects of a type that a grant shows through the roles with a
// permission, or through all roles if it is "".
func shown(caller *engine.Caller, t *schema.Type, grant engine.Grant, permission string) query.Expr {
	if showsNetwork(grant, permission) {
		return query.All
	}
	roles := rolesWith(grant, permission)
	if len(roles) > 0 && len(t.Team) == 0 {
		return query.All
	}
	var owners []any
	if len(roles) > 0 {
		owners = teamOwners(t, grant, roles)
	}
	if showsOwn(caller, t, grant, permission) {
		owners = append(owners, schema.OwnValue(caller.User))
	}
	return in(t.OwnerField(), owners)
}

// showsNetwork reports whether a role of scope NETWORK shows all objects, through a
// permission, or whatever its permissions if it is "".
func showsNetwork(grant engine.Grant, permission string) bool {
	return permission == "" && grant.Network || permission != "" && grant.NetworkPermissions.Has(permission)
}

// showsOwn reports whether a grant shows the objects of a type that belong to the caller,
// through the roles with a permission, or through all roles if it is "". An API token shows
// nothing that belongs to its user in person.
func showsOwn(caller *engine.Caller, t *schema.Type, grant engine.Grant, permission string) bool {
	return grant.Own && len(t.Owner) > 0 && caller.Token == nil && (permission == "" || grant.OwnPermissions.Has(permission))
}

// seesOthers reports whether a grant shows more than what belongs to the caller.
func seesOthers(grant engine.Grant) bool { return !grant.OnlyOwn() }

// visibleGlobals matches the objects of a type that belongs to no network: all, except for
// callers whose roles all show only what belongs to them.
func visibleGlobals(caller *engine.Caller) query.Expr {
	own := networksOf(caller, func(grant engine.Grant) bool { return grant.Own })
	if len(own) > 0 && len(networksOf(caller, seesOthers)) == 0 {
		return query.None
	}
	return query.All
}

// Knows implements engine.Access.
func (Access) Knows(caller *engine.Caller, t *schema.Type, network string) bool {
	if caller.System || !t.Secluded() {
		return true
	}
	if network == "" {
		return len(networksOf(caller, func(grant engine.Grant) bool {
			return grant.NetworkPermissions.Has(t.Read) || !t.Global && holdsSome(caller, t, grant, t.Read)
		})) > 0
	}
	return holds(caller, t, network, t.Read)
}

// rolesWith returns the roles of scope TEAM that have a permission, or all if it is "".
func rolesWith(grant engine.Grant, permission string) (holding []engine.TeamRole) {
	for _, role := range grant.TeamRoles {
		if permission == "" || role.Permissions.Has(permission) {
			holding = append(holding, role)
		}
	}
	return holding
}

// teamOwners returns the values of the owners whose objects a grant shows through some of
// its roles of scope TEAM.
func teamOwners(t *schema.Type, grant engine.Grant, roles []engine.TeamRole) []any {
	values := []any{schema.Unowned}
	add := func(owner string, ids []string) {
		for _, id := range ids {
			values = append(values, schema.OwnerValue(owner, id))
		}
	}
	seen := map[string]bool{}
	for _, path := range t.OwnerPaths() {
		if path.Own || seen[path.Owner] {
			continue
		}
		seen[path.Owner] = true
		if path.Owner == "teams" {
			add(path.Owner, grant.Teams)
			continue
		}
		for _, property := range t.Named(path.Owner) {
			add(path.Owner, grant.Bound[property])
			for _, role := range roles {
				add(path.Owner, role.Bound[property])
			}
		}
	}
	slices.SortFunc(values, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return slices.Compact(values)
}

// Writable implements engine.Access. A permission holds for the objects that its role
// shows.
func (Access) Writable(caller *engine.Caller, t *schema.Type, network string, exists bool) query.Expr {
	grant, permission := caller.Grants[network], t.WritePermission(exists)
	switch {
	case caller.System, t.Global:
		return query.All
	case !holdsSome(caller, t, grant, permission):
		return query.None
	}
	everyRole := !grant.Network && len(rolesWith(grant, permission)) == len(grant.TeamRoles) &&
		(!showsOwn(caller, t, grant, "") || grant.OwnPermissions.Has(permission))
	if everyRole {
		return query.All // of what the caller sees
	}
	return shown(caller, t, grant, permission)
}

// visibleUsers matches the caller, the users with a role in a network where the caller sees
// more than what belongs to the caller, and the users without a role that the caller has
// created and can give one.
func visibleUsers(caller *engine.Caller) query.Expr {
	shared := in(byUserNetwork, networksOf(caller, seesOthers))
	if caller.Token != nil { // which shows nothing that belongs to its user in person
		return shared
	}
	return query.Or{
		shared,
		query.Compare{Field: byID, Op: query.Equal, Value: caller.User},
		withoutRole(caller),
	}
}

// withoutRole matches the users without a role whom the caller has created.
func withoutRole(caller *engine.Caller) query.Expr {
	return query.And{query.Null{Field: byUserNetwork}, query.Compare{Field: byCreator, Op: query.Equal, Value: caller.User}}
}

// Within implements engine.Access: users belong to the networks where they have a role.
// One without any role belongs to each network of whoever has created it, who can give it
// a role there.
func (Access) Within(caller *engine.Caller, t *schema.Type, network string) query.Expr {
	if t.Name == "users" {
		return query.Or{query.Compare{Field: byUserNetwork, Op: query.Equal, Value: network}, withoutRole(caller)}
	}
	return nil
}

// MayWrite implements engine.Access.
func (Access) MayWrite(caller *engine.Caller, t *schema.Type, network, id string, exists bool) error {
	if caller.System || t.Name == "users" && caller.Is(id) {
		return nil
	}
	permission := t.WritePermission(exists)
	allowed := holds(caller, t, network, permission)
	switch {
	case t.Name == "tokens":
		allowed = Manages(caller.Grants[network])
	case t.Name == "networks" && !exists && caller.Token != nil:
		// The user, and not the token, would become its administrator.
		return message.UserRequired.Error(message.Params{"type": t.Name})
	}
	if t.Name == "networks" && exists {
		grant, member := caller.Grants[id]
		if allowed && !member && !caller.Dormant[id] { // do not reveal whether it exists
			return message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
		}
		allowed = Manages(grant) || caller.Dormant[id]
	}
	if !allowed {
		return message.PermissionMissing.Error(message.Params{"type": t.Name, "permission": permission})
	}
	return nil
}

// MayWriteSome implements engine.Access.
func (a Access) MayWriteSome(caller *engine.Caller, t *schema.Type, network string) error {
	if t.Name == "users" || t.Name == "networks" && (len(caller.Dormant) > 0 || caller.Token != nil && managesAny(caller)) { // of which the caller may write one
		return nil
	}
	if t.Permission != t.Create && holds(caller, t, network, t.Permission) {
		return nil
	}
	return a.MayWrite(caller, t, network, "", false)
}

// holds reports whether a caller has a permission for objects of a type in a network, or
// for those among them that a role of scope TEAM or OWN shows. For a global type, the permission
// counts in whichever network it is held.
func holds(caller *engine.Caller, t *schema.Type, network, permission string) bool {
	if t.Global {
		return len(networksOf(caller, func(grant engine.Grant) bool { return grant.NetworkPermissions.Has(permission) })) > 0
	}
	return holdsSome(caller, t, caller.Grants[network], permission)
}

// holdsSome reports whether a grant includes a permission for some objects of a type.
func holdsSome(caller *engine.Caller, t *schema.Type, grant engine.Grant, permission string) bool {
	return grant.NetworkPermissions.Has(permission) || grant.TeamPermissions.Has(permission) ||
		showsOwn(caller, t, grant, permission)
}

// MayErase implements engine.Access. As with MayWrite, the permission counts for a global
// type in whichever network it is held.
func (Access) MayErase(caller *engine.Caller, t *schema.Type, network string) error {
	if caller.System || !t.Global && Manages(caller.Grants[network]) || t.Global && managesAny(caller) {
		return nil
	}
	return message.PermissionMissing.Error(message.Params{"type": t.Name, "permission": ManageSystem})
}

// MayReadSecrets implements engine.Access. If the permission holds for only some of the
// objects that the caller sees, no secrets of the type are shown.
func (a Access) MayReadSecrets(caller *engine.Caller, t *schema.Type, network string) bool {
	return caller.System || a.showsAll(caller, t, network) && holds(caller, t, network, t.Permission) && query.IsAll(a.Writable(caller, t, network, true))
}

// showsAll reports whether the caller's roles show all objects of a type that the caller
// sees, and not only some besides those that are public.
func (a Access) showsAll(caller *engine.Caller, t *schema.Type, network string) bool {
	return t.Public == nil || query.IsAll(a.Visible(caller, t, network))
}

// MayReadProperty implements engine.Access. If the permission holds for only some of the
// objects that the caller sees, the properties are not shown at all.
func (a Access) MayReadProperty(caller *engine.Caller, t *schema.Type, network, permission string) bool {
	grant := caller.Grants[network]
	switch {
	case caller.System:
		return true
	case !a.showsAll(caller, t, network):
		return false
	case t.Global || grant.NetworkPermissions.Has(permission):
		return holds(caller, t, network, permission)
	case len(t.Team) == 0 && grant.TeamPermissions.Has(permission):
		return true
	case showsNetwork(grant, t.Read):
		return false // a role that shows all objects lacks it
	}
	showing, own := rolesWith(grant, t.Read), showsOwn(caller, t, grant, t.Read)
	lacks := func(role engine.TeamRole) bool { return !role.Permissions.Has(permission) }
	return (len(showing) > 0 || own) && !slices.ContainsFunc(showing, lacks) && (!own || grant.OwnPermissions.Has(permission))
}

// MayReadHistory implements engine.Access. The history of global types, such as users
// and networks, requires the permission to manage them: that of a network, in the network
// itself.
func (Access) MayReadHistory(caller *engine.Caller, t *schema.Type, network, id string) error {
	if t == nil || !t.Global || caller.System {
		return nil
	}
	allowed := Manages(caller.Grants[network])
	if grant, member := caller.Grants[id]; allowed && member && t.Name == "networks" {
		allowed = Manages(grant)
	}
	if !allowed {
		return message.ReadForbidden.Error(message.Params{"type": "audit", "permission": ManageSystem})
	}
	return nil
}
