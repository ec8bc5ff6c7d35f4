package auth

import (
	"context"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// userBeforeRender hides roles in networks that the caller does not manage, unless
// they are the caller's own. Whether there are others does not show: a user without roles
// has an empty list, too.
func userBeforeRender(caller *engine.Caller, r *store.Record) error {
	if caller.System || caller.Is(r.ID) {
		return nil
	}
	object, err := document.DecodeObject(r.Document, document.Limits{})
	if err != nil {
		return err
	}
	userRoles, _ := object["userRoles"].(map[string]any)
	list, _ := userRoles["rolesByNetwork"].([]any)
	shown := slices.DeleteFunc(withRoles(list), func(entry any) bool {
		return !manages(caller.Grants[networkOf(entry)])
	})
	if userRoles == nil || len(shown) != len(list) {
		object["userRoles"] = map[string]any{"rolesByNetwork": shown}
		r.Document = document.Append(nil, object)
	}
	return nil
}

// userBeforeValidate checks that the caller can grant the roles and manage the user.
// A posted userRoles replaces only the entries of networks that the caller manages.
func (s *Service) userBeforeValidate(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	s.checkPolicy(c)
	touchPassword(c)
	if _, posted := c.Patch["userRoles"]; posted && wellFormed(c.After["userRoles"]) { // otherwise the schema rejects it
		if err := s.writeRoles(ctx, w, c); err != nil {
			return err
		}
	}
	switch {
	case c.Before == nil, c.Internal(), c.Caller.System:
		return nil
	case c.Caller.Is(c.ID):
		return checkProved(ctx, w, c)
	}
	field := ownField(c)
	if field == "" {
		return nil
	}
	managed, err := manageable(c.Caller, c.Before, func(network, id string) (*roleDocument, error) {
		return readRole(ctx, w, network, id)
	})
	if err == nil && !managed {
		err = message.UserNotManaged.Error(message.Params{"field": field})
	}
	return err
}

// writeRoles checks posted roles, and keeps those that the caller does not manage.
func (s *Service) writeRoles(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	if asStored(c) {
		dropEmpty(c)
		return nil
	}
	if err := mergeRoles(c); err != nil {
		return err
	}
	if err := checkGrantedRoles(c); err != nil {
		return err
	}
	if err := s.checkGrantedNetworks(ctx, w, c); err != nil {
		return err
	}
	if !c.Caller.System {
		if err := checkGranted(ctx, w, c); err != nil {
			return err
		}
	}
	return checkNamedTogether(w, c)
}

// asStored reports whether a change by the service itself, such as an import, is taken as
// it is: bounds do not apply to it.
func asStored(c *engine.Change) bool {
	return c.Internal() || c.Caller.System && !c.Caller.Operator
}

// ownField returns the JSON Pointer of a changed property other than the roles, or "".
// A password counts even if it is the current one, which could be guessed otherwise.
func ownField(c *engine.Change) string {
	if _, set := c.Patch["password"].(string); set {
		return "/password"
	}
	if c.State != c.StateBefore {
		return "/objectState"
	}
	for _, change := range document.Diff(c.Before, c.After) {
		if change.Field != "userRoles" && change.Field != "currentPassword" {
			return "/" + change.Field
		}
	}
	return ""
}

// manageable reports whether a caller manages all networks of a user and has every
// permission of the user there, with scope NETWORK.
func manageable(caller *engine.Caller, user map[string]any, read func(network, id string) (*roleDocument, error)) (bool, error) {
	for network, roles := range rolesOf(user) {
		grant := caller.Grants[network]
		if len(roles) > 0 && !manages(grant) {
			return false, nil
		}
		for _, id := range roles {
			role, err := read(network, id)
			if err != nil {
				return false, err
			}
			if role != nil && slices.ContainsFunc(role.Permissions, func(p string) bool { return !grant.NetworkPermissions[p] }) {
				return false, nil
			}
		}
	}
	return managesAny(caller), nil
}
