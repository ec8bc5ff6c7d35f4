package auth

import (
	"context"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Hooks returns the rules of users, roles, tokens, teams and networks: callers can grant
// only permissions that they hold.
func (s *Service) Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"users":    {Prepare: s.prepareUser, BeforeValidate: engine.Each(s.userBeforeValidate), BeforeStore: s.usersBeforeStore, BeforeRender: userBeforeRender, Hidden: []string{"userRoles"}},
		"roles":    {BeforeValidate: engine.Each(roleBeforeValidate), BeforeStore: guardRoles},
		tokenType:  {Prepare: prepareToken, BeforeValidate: engine.Each(s.tokenBeforeValidate), BeforeStore: engine.Each(storeToken), Derive: s.deriveUses},
		"teams":    {Validate: validateTeams},
		"networks": {Prepare: prepareNetwork, BeforeStore: engine.Each(networkBeforeStore)},
	}
}

// prepareNetwork generates the id of the first role of a new network before the
// transaction, which can run more than once.
func prepareNetwork(ctx context.Context, c *engine.Change) error {
	c.Kept = store.NewID()
	return nil
}

// networkBeforeStore gives the creator of a network a role with all permissions in it.
func networkBeforeStore(ctx context.Context, w *engine.Writing, c *engine.Change) error {
	role, ok := c.Kept.(string)
	if !ok || !c.Created() || c.Internal() || c.Caller.System {
		return nil
	}
	roles, _ := w.Type("roles")
	users, _ := w.Type("users")
	first := w.Upsert(roles, c.ID, role, func(object map[string]any) {
		object["name"], object["scope"] = "Administrator", "NETWORK"
		object["permissions"] = anyList(roles.Permissions())
	})
	holder := w.Upsert(users, "", c.Caller.User, func(object map[string]any) {
		userRoles, _ := document.Clone(object["userRoles"]).(map[string]any)
		if userRoles == nil {
			userRoles = map[string]any{}
		}
		list, _ := userRoles["rolesByNetwork"].([]any)
		userRoles["rolesByNetwork"] = append(list, map[string]any{
			"network": c.ID, "roles": []any{map[string]any{"role": role}}})
		object["userRoles"] = userRoles
	})
	for _, made := range []*engine.Change{first, holder} {
		made.SetCause(message.CauseObject, message.Params{"type": c.Type.Name, "id": c.ID})
	}
	return nil
}

// texts returns the strings of a list.
func texts(value any) []string {
	items, _ := value.([]any)
	list := make([]string, 0, len(items))
	for _, item := range items {
		if text, ok := item.(string); ok {
			list = append(list, text)
		}
	}
	return list
}

func anyList(list []string) []any {
	items := make([]any, len(list))
	for i, item := range list {
		items[i] = item
	}
	return items
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
