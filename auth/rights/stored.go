package rights

import (
	"context"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// userDocument is the part of a stored user that this package reads.
type userDocument struct {
	Username  string `json:"username"`
	UserRoles struct {
		RolesByNetwork []networkRoles `json:"rolesByNetwork"`
	} `json:"userRoles"`
}

type networkRoles struct {
	Network string     `json:"network"`
	Roles   []userRole `json:"roles"`
}

type userRole struct {
	Role string `json:"role"`
}

// roleDocument is the part of a stored role that this package reads.
type roleDocument struct {
	Permissions []string `json:"permissions"`
	Scope       string   `json:"scope"`
	// bound are the objects that the role names, by property.
	bound map[string][]string
}

// The scopes of roles.
const (
	networkScope = "NETWORK"
	teamScope    = "TEAM"
	ownScope     = "OWN"
)

// withinTeams reports whether a role with a scope shows what belongs to teams. So does one
// that was stored without a scope.
func withinTeams(scope any) bool { return scope == nil || scope == "" || scope == teamScope }

// storedUser returns the document of a user, or nil if there is none.
func storedUser(ctx context.Context, r store.Snapshot, id string) (user map[string]any, err error) {
	err = r.Get(ctx, "users", []store.Key{{ID: id}}, func(r *store.Record) (err error) {
		user, err = document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		return err
	})
	return user, err
}

// UserNamed returns the id of the user with exactly this name, or else of the only
// user whose name has the same normal form, or "". Names from before normal forms were
// compared can share one.
func UserNamed(ctx context.Context, r store.Snapshot, username string) (id string, err error) {
	exact := store.Claim{Collection: "users", Property: "username", Value: string(document.AppendString(nil, username))}
	shared := catalog.FormClaims("users", "", schema.UniqueForm{Property: "username", Form: schema.UsernameForm}, username)
	owners, err := r.Claims(ctx, append(shared, exact))
	if err != nil || owners[exact] != "" {
		return owners[exact], err
	}
	for _, claim := range shared {
		switch owner := owners[claim]; {
		case owner != "" && id != "":
			return "", nil
		case owner != "":
			id = owner
		}
	}
	return id, nil
}

// storedRole returns a stored role, or nil.
func storedRole(ctx context.Context, s store.Snapshot, network, id string) (*roleDocument, error) {
	var role roleDocument
	record, err := store.ReadOne(ctx, s, "roles", store.Key{Network: network, ID: id}, &role)
	if err != nil || record.Revision == 0 {
		return nil, err
	}
	return &role, nil
}

// without returns the strings of a list that are not in another one.
func without(list, other []string) []string {
	held := map[string]bool{}
	for _, text := range other {
		held[text] = true
	}
	var rest []string
	for _, text := range list {
		if !held[text] {
			rest = append(rest, text)
		}
	}
	return rest
}
