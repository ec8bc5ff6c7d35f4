package rights

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/query"
	"marquee/engine/store"
)

// An administrator of a network is an ACTIVE user with an ACTIVE role of scope
// NETWORK there that has MANAGE_SYSTEM. No write removes the last administrator of a
// network.

// guardUsers guards the networks where users lose roles or are deactivated.
func guardUsers(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	for _, c := range changes {
		if c.Before == nil || c.StateBefore != "ACTIVE" {
			continue
		}
		after := rolesOf(c.After)
		for network, roles := range rolesOf(c.Before) {
			field := ""
			switch {
			case len(roles) == 0:
			case c.State != "ACTIVE":
				field = "/objectState"
			case slices.ContainsFunc(roles, func(role string) bool { return !slices.Contains(after[network], role) }):
				field = "/userRoles"
			}
			if field == "" {
				continue
			}
			if err := guard(w, c, network, field); err != nil {
				return err
			}
		}
	}
	return nil
}

// guardRoles guards the networks where a role no longer makes administrators.
func guardRoles(_ context.Context, w *engine.Writing, changes []*engine.Change) error {
	for _, c := range changes {
		field := "/permissions"
		switch {
		case c.Before == nil || !administers(c.Before, c.StateBefore) || administers(c.After, c.State):
			continue
		case c.State != "ACTIVE":
			field = "/objectState"
		case c.After["scope"] != networkScope:
			field = "/scope"
		}
		if err := guard(w, c, c.Network, field); err != nil {
			return err
		}
	}
	return nil
}

// administers reports whether a role makes administrators.
func administers(role map[string]any, state string) bool {
	return state == "ACTIVE" && role["scope"] == networkScope && makesManager(document.Strings(role["permissions"]))
}

// guard rejects the transaction if it removes the last administrator of the network.
func guard(w *engine.Writing, c *engine.Change, network, field string) error {
	key := "administrators\x00" + network
	if w.HasBeforeCommit(key) {
		return nil
	}
	if err := guardNetwork(w, network); err != nil {
		return err
	}
	had, err := hasAdministrator(w, network)
	if err != nil {
		return err
	}
	w.BeforeCommit(key, func() error {
		if !had {
			return nil
		}
		has, err := hasAdministrator(w, network)
		if err == nil && !has {
			w.Add(c.Fault(message.LastAdministrator, field, message.Params{"context": network}))
		}
		return err
	})
	return nil
}

// hasAdministrator reports whether a network has an administrator in the state of the
// transaction.
func hasAdministrator(w *engine.Writing, network string) (bool, error) {
	roleType, _ := w.Type("roles")
	scope, err := roleType.Field("", "scope")
	if err != nil {
		return false, err
	}
	var roles []any
	wide := query.And{isActive, query.Compare{Field: scope, Op: query.Equal, Value: networkScope}}
	err = w.Find(roleType, network, wide, 0, func(r *store.Record) error {
		var role roleDocument
		err := json.Unmarshal(r.Document, &role)
		if makesManager(role.Permissions) {
			roles = append(roles, r.ID)
		}
		return err
	})
	if err != nil || len(roles) == 0 {
		return false, err
	}
	err = eachUserWith(w, network, roles, query.And{isActive}, func(string) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// guardNetwork makes those transactions conflict that rely on who has which rights in a
// network, because each would overlook what the other changes: both remove an administrator because
// the other remains, or a permission is added to a role that somebody else gives to a
// member of another team, who then has both.
func guardNetwork(w *engine.Writing, network string) error { return w.Lock("networks", "", network) }
