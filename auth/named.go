package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// Roles and teams name objects, such as the sites of an advertising service. What the
// roles of a user name in a network is bounded when rights are read, because each query
// of the user has all of it, and so are the teams of a user. Writes that would exceed a
// bound are refused where they concern one user, role or team. A role that many users
// hold can still grow; those users then see a part of the objects that it names.
//
// Of a user's ACTIVE teams in a network, the maxTeams that were created first count, and
// for each property, the first maxBound objects that they name. Of the objects that the
// roles of a user name in a network, the first maxBound of each property count, in the
// order of the ids of the roles.
const (
	maxTeams = 1000
	maxBound = 10_000
)

// rolesAtOnce is the number of roles that are read together, as a single one can name
// many objects.
const rolesAtOnce = 20

// readRoles yields the ACTIVE roles among some, in the order of their networks and ids.
func readRoles(ctx context.Context, s store.Snapshot, keys []store.Key, yield func(network string, role roleDocument)) error {
	slices.SortFunc(keys, func(a, b store.Key) int {
		return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.ID, b.ID))
	})
	for some := range slices.Chunk(slices.Compact(keys), rolesAtOnce) {
		found := map[store.Key]roleDocument{}
		err := s.Get(ctx, "roles", some, func(r *store.Record) error {
			if r.State != "ACTIVE" {
				return nil
			}
			var role roleDocument
			err := json.Unmarshal(r.Document, &role)
			if err == nil && role.Scope != "NETWORK" {
				role.bound, err = boundBy(r.Document)
			}
			found[store.Key{Network: strings.Clone(r.Network), ID: strings.Clone(r.ID)}] = role
			return err
		})
		if err != nil {
			return err
		}
		for _, key := range some {
			if role, ok := found[key]; ok {
				yield(key.Network, role)
			}
		}
	}
	return nil
}

// bounded returns what a role names without what exceeds maxBound together with other
// roles.
func bounded(named map[string][]string, others []engine.TeamRole) map[string][]string {
	kept := make(map[string][]string, len(named))
	for property, ids := range named {
		room := maxBound
		for _, other := range others {
			room -= len(other.Bound[property])
		}
		kept[property] = slices.Clone(ids[:min(len(ids), room)])
	}
	return kept
}

// checkNamed rejects a role or a team to which objects are added, beyond maxBound of a
// property.
func checkNamed(w *engine.Writing, c *engine.Change) {
	for _, property := range boundProperties(c.Type) {
		if n := len(texts(c.After[property])); n > maxBound && n > len(texts(c.Before[property])) {
			w.Add(c.Fault(message.TooManyItems, "/"+property, message.Params{"limit": maxBound}))
		}
	}
}

// checkNamedTogether rejects roles that a user is given if all roles of the user in the
// network name more than maxBound objects of a property.
func checkNamedTogether(w *engine.Writing, c *engine.Change) error {
	t, _ := w.Type("roles")
	properties := boundProperties(t)
	if len(properties) == 0 {
		return nil
	}
	before := rolesOf(c.Before)
	for network, roles := range rolesOf(c.After) {
		if len(without(roles, before[network])) == 0 {
			continue
		}
		property, err := tooMuchNamed(w, t, network, properties, roles)
		if err != nil {
			return err
		}
		if property != "" {
			w.Add(c.Fault(message.RolesTooWide, "/userRoles", message.Params{"context": network, "property": property, "limit": maxBound}))
		}
	}
	return nil
}

// tooMuchNamed returns a property in which the roles of scope TEAM among some name more
// than maxBound objects together, or "".
func tooMuchNamed(w *engine.Writing, t *schema.Type, network string, properties, ids []string) (string, error) {
	named := map[string]int{}
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), rolesAtOnce) {
		roles, err := w.Lookup(t.Name, network, some)
		if err != nil {
			return "", err
		}
		for _, role := range roles {
			if role.Object["scope"] == "NETWORK" {
				continue
			}
			for _, property := range properties {
				named[property] += len(texts(role.Object[property]))
			}
		}
		for _, property := range properties {
			if named[property] > maxBound {
				return property, nil
			}
		}
	}
	return "", nil
}
