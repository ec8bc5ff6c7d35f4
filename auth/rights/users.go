package rights

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
		return !Manages(caller.Grants[networkOf(entry)])
	})
	if userRoles == nil || len(shown) != len(list) {
		object["userRoles"] = map[string]any{"rolesByNetwork": shown}
		r.Document = document.Append(nil, object)
	}
	return nil
}

// userBeforeValidate checks that the caller can grant the roles and manage the user.
// A posted userRoles replaces only the entries of networks that the caller manages.
func (r *Rules) userBeforeValidate(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	r.checkPolicy(c)
	touchPassword(c)
	if _, posted := c.Patch["userRoles"]; posted && wellFormed(c.After["userRoles"]) { // otherwise the schema rejects it
		if err := r.writeRoles(ctx, w, c); err != nil {
			return err
		}
	}
	switch {
	case c.Before == nil, c.Internal(), c.Caller.System:
		return nil
	case c.Caller.Is(c.ID) && !c.Erases():
		return checkProved(ctx, w, c)
	}
	field := ownField(c)
	if field == "" {
		return nil
	}
	roles, _ := w.Type("roles")
	managed, err := manageable(c.Caller, c.Before, roles.BuiltInPermissions(), func(network, id string) (*roleDocument, error) {
		return readRole(ctx, w, network, id)
	})
	if err == nil && !managed {
		err = message.UserNotManaged.Error(message.Params{"field": field})
	}
	return err
}

// writeRoles checks posted roles, and keeps those that the caller does not manage.
func (r *Rules) writeRoles(ctx context.Context, w *engine.Writing, c *engine.Change) error {
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
	if err := r.checkGrantedNetworks(ctx, w, c); err != nil {
		return err
	}
	if !c.Caller.System {
		if err := checkGranted(ctx, w, c); err != nil {
			return err
		}
	}
	return checkNamedTogether(w, c)
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

func (r *Rules) usersBeforeStore(ctx context.Context, w *engine.Writing, changes []*engine.Change) error {
	if err := guardUsers(ctx, w, changes); err != nil {
		return err
	}
	for _, c := range changes {
		if !c.Erases() {
			continue
		}
		if err := r.dropPassword(ctx, w, c); err != nil {
			return err
		}
	}
	return engine.Each(r.storePassword)(ctx, w, changes)
}
