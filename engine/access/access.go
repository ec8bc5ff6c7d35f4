// Package access defines who calls, what a caller may do and see (visibility), and how
// a condition of visibility is applied to objects whose ids are known. It imports catalog,
// document, query, schema and store. Begin with Access, which the application implements.
package access

import (
	"marquee/engine/query"
	"marquee/engine/schema"
)

// Caller is the authenticated sender of a request.
type Caller struct {
	// User is the id of the user, "" for the service itself.
	User string
	// System callers may do everything, as in a bootstrap or an import.
	System bool
	// Operator reports whether the caller is a person who administers the service on
	// its machine: a System caller, or one who acts for the User. The history names it
	// as the cause.
	Operator bool
	// Anonymous callers have sent no token, or have no role in the network that they read.
	// They see what is public in the network Public, and nothing else.
	Anonymous bool
	Public    string
	// Token is the API token with which a program acts for the user, nil for users
	// themselves.
	Token *Token
	// Grants holds what the caller may do, by network.
	Grants map[string]Grant
	// Dormant lists networks that are not ACTIVE and that the caller would manage: the
	// caller may see and change the network itself, and nothing in it.
	Dormant map[string]bool
}

// Token identifies an API token.
type Token struct{ Network, ID string }

// Is reports whether the caller is a user, and not a program that acts for one.
func (c *Caller) Is(user string) bool { return c.Token == nil && c.User == user }

// Account distinguishes callers from each other where they share something limited.
func (c *Caller) Account() string {
	if c.Token == nil {
		return c.User
	}
	return "token\x00" + c.Token.Network + "\x00" + c.Token.ID
}

// Grant is what a caller's roles allow in one network.
type Grant struct {
	// Network, Team and Own report whether a role has that scope.
	Network, Team, Own bool
	// Teams are the ids of the caller's ACTIVE teams, and Bound the objects that these
	// name, by property.
	Teams []string
	Bound map[string][]string
	// TeamRoles are the roles of scope TEAM.
	TeamRoles []TeamRole
	// NetworkPermissions come from roles of scope NETWORK and apply to the whole
	// network; TeamPermissions apply to what the TEAM scope shows, and OwnPermissions to
	// what belongs to the caller.
	NetworkPermissions, TeamPermissions, OwnPermissions Permissions
}

// Permissions is a set of permissions.
type Permissions map[string]bool

// Has reports whether the set has a permission, by its name or by
// schema.AllPermissions.
func (p Permissions) Has(permission string) bool { return p[permission] || p[schema.AllPermissions] }

// TeamRole is a role of scope TEAM: its permissions, and the objects that it names, by
// property.
type TeamRole struct {
	Permissions Permissions
	Bound       map[string][]string
}

// Holds reports whether the grant includes a permission for what it shows. A permission of
// scope OWN counts if all roles have this scope: otherwise, others show what does not belong
// to the caller.
func (g Grant) Holds(permission string) bool {
	return g.NetworkPermissions.Has(permission) || g.TeamPermissions.Has(permission) || g.OnlyOwn() && g.OwnPermissions.Has(permission)
}

// OnlyOwn reports whether all roles have the scope OWN.
func (g Grant) OnlyOwn() bool { return !g.Network && !g.Team }

// Access decides what callers see and may change. Every read and every new reference
// asks it.
type Access interface {
	// Visible returns the condition that objects of a type must meet for the caller to
	// see them. For a global type the network makes no difference, here and below.
	Visible(caller *Caller, t *schema.Type, network string) query.Expr
	// Knows reports whether a type exists for the caller in a network, or in any if the
	// network is "". Answers reveal nothing of other types.
	Knows(caller *Caller, t *schema.Type, network string) bool
	// Writable returns a condition that objects of a type which the caller sees must
	// meet, before a write and after it, for the caller to write them; exists reports
	// whether the objects are stored before the write.
	Writable(caller *Caller, t *schema.Type, network string, exists bool) query.Expr
	// Within returns the condition that objects of a global type which the caller sees
	// must meet to belong to a network, nil for a type whose objects belong to none.
	Within(caller *Caller, t *schema.Type, network string) query.Expr
	// MayWrite returns an error of kind Forbidden when the caller may not write the
	// object; exists reports whether it is stored.
	MayWrite(caller *Caller, t *schema.Type, network, id string, exists bool) error
	// MayWriteSome returns an error of kind Forbidden when MayWrite would for every
	// object of the type.
	MayWriteSome(caller *Caller, t *schema.Type, network string) error
	// MayErase returns an error of kind Forbidden when the caller may not erase objects of
	// the type in the network.
	MayErase(caller *Caller, t *schema.Type, network string) error
	// MayReadSecrets reports whether the caller is shown secret properties.
	MayReadSecrets(caller *Caller, t *schema.Type, network string) bool
	// MayReadProperty reports whether the caller is shown the properties of a type that are
	// read with a permission.
	MayReadProperty(caller *Caller, t *schema.Type, network, permission string) bool
	// MayReadHistory returns an error of kind Forbidden when the caller may not read
	// the history of a network, of one type in it when t is not nil, or of one object
	// when id is not "". Whether the caller sees the object is not decided here.
	MayReadHistory(caller *Caller, t *schema.Type, network, id string) error
}
