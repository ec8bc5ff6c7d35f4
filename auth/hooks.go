package auth

import (
	"context"

	"marquee/engine"
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
		"networks": {Prepare: prepareNetwork, BeforeStore: s.networksBeforeStore},
	}
}

// prepareNetwork generates the id of the first role of a new network before the
// transaction, which can run more than once.
func prepareNetwork(ctx context.Context, c *engine.Change) error {
	c.Kept = store.NewID()
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
