package auth

import (
	"maps"
	"slices"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/schema"
)

// The permissions of the specification's part 2.15.
const (
	ManageBusiness        = "MANAGE_BUSINESS"
	ManageLayouts         = "MANAGE_LAYOUTS"
	ManageReportTemplates = "MANAGE_REPORT_TEMPLATES"
	ManageSystem          = "MANAGE_SYSTEM"
	RunReports            = "RUN_REPORTS"
)

// Permissions are all of them.
var Permissions = []string{ManageBusiness, ManageLayouts, ManageReportTemplates, ManageSystem, RunReports}

// Access is the engine.Access of the service: what a caller's roles let him
// see and change.
type Access struct{}

var (
	everything = query.And{}
	nothing    = query.Or{}
	byID       = query.Field{System: query.ID}
	byCreator  = query.Field{System: query.CreateUser}
	// byUserNetwork finds the users that have a role in a network.
	byUserNetwork = query.Field{Term: "userRoles.rolesByNetwork.network", Path: []query.Step{
		{Name: "userRoles"}, {Name: "rolesByNetwork", Array: true}, {Name: "network"}}}
)

// Visible is the one place where it is decided what a caller sees.
//
// A caller of scope TEAM sees the types that belong to no team, as everybody
// does; what the paths of a schema tie to a team is closed to him.
func (Access) Visible(caller *engine.Caller, t *schema.Type, network string) query.Expr {
	switch {
	case caller.System:
		return everything
	case t.Name == "networks":
		visible := networksOf(caller, func(engine.Grant) bool { return true })
		for _, dormant := range slices.Sorted(maps.Keys(caller.Dormant)) {
			visible = append(visible, dormant)
		}
		return in(byID, visible)
	case t.Name == "users":
		return visibleUsers(caller, network)
	case t.Global:
		return everything
	}
	grant, ok := caller.Grants[network]
	switch {
	case !ok:
		return nothing
	case grant.Network, len(t.Team) == 0:
		return everything
	}
	return nothing
}

func visibleUsers(caller *engine.Caller, network string) query.Expr {
	self := query.Compare{Field: byID, Op: query.Equal, Value: caller.User}
	if network == "" {
		managed := networksOf(caller, manages)
		visible := query.Or{in(byUserNetwork, managed), self}
		if len(managed) > 0 {
			// Whoever makes a user without a role can still give him one.
			visible = append(visible, query.And{query.Null{Field: byUserNetwork}, query.Compare{Field: byCreator, Op: query.Equal, Value: caller.User}})
		}
		return visible
	}
	if _, ok := caller.Grants[network]; !ok {
		return nothing
	}
	return query.Or{query.Compare{Field: byUserNetwork, Op: query.Equal, Value: network}, self}
}

func in(field query.Field, values []any) query.Expr {
	if len(values) == 0 {
		return nothing
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
	allowed := holds(caller.Grants[network], t)
	if t.Global && network == "" {
		allowed = managesAny(caller)
	}
	if t.Name == "networks" && exists {
		grant, member := caller.Grants[id]
		if allowed && !member && !caller.Dormant[id] { // who could not make it is not told that it exists
			return message.ObjectNotFound.Error(message.Params{"type": t.Name, "id": id})
		}
		allowed = manages(grant) || caller.Dormant[id]
	}
	if !allowed {
		return message.PermissionMissing.Error(message.Params{"type": t.Name, "permission": t.Permission})
	}
	return nil
}

// holds reports whether a grant lets its holder write a type: a permission of
// a TEAM role holds within what that scope shows.
func holds(grant engine.Grant, t *schema.Type) bool {
	return grant.NetworkPermissions[t.Permission] ||
		grant.TeamPermissions[t.Permission] && len(t.Team) == 0 && !t.Global
}

// MayReadSecrets implements engine.Access.
func (Access) MayReadSecrets(caller *engine.Caller, t *schema.Type, network string) bool {
	return caller.System || holds(caller.Grants[network], t)
}

// MayReadHistory implements engine.Access: a role in the network, and for the
// history of users or networks the permission to manage them.
func (Access) MayReadHistory(caller *engine.Caller, t *schema.Type, network string) error {
	if t != nil && t.Global && !caller.System && !manages(caller.Grants[network]) {
		return message.ReadForbidden.Error(message.Params{"type": "audit", "permission": ManageSystem})
	}
	return nil
}
