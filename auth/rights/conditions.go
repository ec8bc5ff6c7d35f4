package rights

import "marquee/engine/query"

var (
	byID      = query.Field{System: query.ID}
	byCreator = query.Field{System: query.CreateUser}
	// byUserNetwork finds the users that have a role in a network.
	byUserNetwork = query.Field{Term: "userRoles.rolesByNetwork.network", Path: []query.Step{
		{Name: "userRoles"}, {Name: "rolesByNetwork", Array: true}, {Name: "network"}}}
	// byMember finds the teams of a user.
	byMember = query.Field{Term: "users", Path: []query.Step{{Name: "users", Array: true}}}
)

// isActive matches what is ACTIVE.
var isActive = query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: "ACTIVE"}

func in(field query.Field, values []any) query.Expr {
	if len(values) == 0 {
		return query.None
	}
	return query.In{Field: field, Values: values}
}
