package rights

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// A role of scope TEAM applies to the objects of its holders' teams. Whoever holds a
// permission in scope TEAM alone therefore may not add it to a role, or remove it, that a
// member of another team holds.

// holdersAtOnce is the number of holders of a role whose teams are looked for together.
const holdersAtOnce = 500

// heldApart reports whether a role is held by a member of an ACTIVE team to which the
// caller does not belong: by a user, or by an API token on behalf of its creator.
func heldApart(w *engine.Writing, network, role string, grant engine.Grant) (bool, error) {
	apart := false
	var holders []any
	check := func() error {
		found, err := inOtherTeams(w, network, holders, grant)
		holders = holders[:0]
		if err == nil && found {
			apart, err = true, errFound
		}
		return err
	}
	add := func(id string) error {
		if holders = append(holders, strings.Clone(id)); len(holders) < holdersAtOnce {
			return nil
		}
		return check()
	}
	err := eachHolder(w, network, role, add)
	if err == nil && len(holders) > 0 {
		err = check()
	}
	if errors.Is(err, errFound) {
		err = nil
	}
	return apart, err
}

// eachHolder yields the ids of the users who hold a role, and of those on whose behalf
// API tokens do, as they were before the changes of the round. Ids can repeat.
func eachHolder(w *engine.Writing, network, role string, yield func(id string) error) error {
	err := eachUserWith(w, network, []any{role}, nil, yield)
	if err != nil {
		return err
	}
	tokens, _ := w.Type("tokens")
	byRole, err := tokens.Field("", "role")
	if err != nil {
		return err
	}
	return w.Find(tokens, network, query.And{isActive, query.Compare{Field: byRole, Op: query.Equal, Value: role}}, 0,
		func(r *store.Record) error { return yield(r.CreateUser) })
}

// eachUserWith yields the ids of the users who hold one of some roles in a network and match
// the conditions.
func eachUserWith(w *engine.Writing, network string, roles []any, where query.And, yield func(id string) error) error {
	users, _ := w.Type("users")
	held, err := users.Field("", "userRoles.rolesByNetwork.roles.role")
	if err != nil {
		return err
	}
	where = append(where, query.Compare{Field: byUserNetwork, Op: query.Equal, Value: network}, query.In{Field: held, Values: roles})
	return w.Find(users, "", where, 0, func(r *store.Record) error {
		var user userDocument
		if err := json.Unmarshal(r.Document, &user); err != nil {
			return err
		}
		// A role of another network can have the same id.
		for _, entry := range user.UserRoles.RolesByNetwork {
			if entry.Network == network && slices.ContainsFunc(entry.Roles, func(role userRole) bool { return slices.Contains(roles, any(role.Role)) }) {
				return yield(r.ID)
			}
		}
		return nil
	})
}

// errFound stops a search.
var errFound = errors.New("found")

// inOtherTeams reports whether some of the users are members of an ACTIVE team to which
// the caller does not belong.
func inOtherTeams(w *engine.Writing, network string, users []any, grant engine.Grant) (bool, error) {
	teams, _ := w.Type("teams")
	where := query.And{isActive, query.In{Field: byMember, Values: users}}
	if len(grant.Teams) > 0 {
		where = append(where, query.Not{Of: in(byID, document.Array(grant.Teams))})
	}
	found := false
	err := w.Find(teams, network, where, 1, func(*store.Record) error {
		found = true
		return nil
	})
	return found, err
}
