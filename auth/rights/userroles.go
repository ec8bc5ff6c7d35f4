package rights

import (
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
)

// rolesOf returns the roles of a user by network. A network in userRoles without roles
// has an empty list.
func rolesOf(object map[string]any) map[string][]string {
	roles := map[string][]string{}
	for _, entry := range entriesOf(object) {
		network := networkOf(entry)
		members, _ := entry.(map[string]any)
		held, _ := members["roles"].([]any)
		if roles[network] == nil {
			roles[network] = []string{}
		}
		for _, item := range held {
			role, _ := item.(map[string]any)
			if id, ok := role["role"].(string); ok {
				roles[network] = append(roles[network], id)
			}
		}
	}
	return roles
}

func entriesOf(object map[string]any) []any {
	userRoles, _ := object["userRoles"].(map[string]any)
	list, _ := userRoles["rolesByNetwork"].([]any)
	return list
}

func networkOf(entry any) string {
	members, _ := entry.(map[string]any)
	network, _ := members["network"].(string)
	return network
}

// wellFormed reports whether each entry of posted userRoles names a network.
func wellFormed(userRoles any) bool {
	members, ok := userRoles.(map[string]any)
	list, set := members["rolesByNetwork"]
	entries, listed := list.([]any)
	return userRoles == nil || ok && (!set || listed) &&
		!slices.ContainsFunc(entries, func(entry any) bool { return networkOf(entry) == "" })
}

// mergeRoles keeps the entries of networks that the caller does not manage. Entries
// without roles are left out: they would make the user one of a network without a role
// there. So is userRoles if nothing remains of it.
func mergeRoles(c *engine.Change) error {
	before, after := rolesOf(c.Before), rolesOf(c.After)
	held, kept := splitEntries(c.Caller, c.Before)
	posted, others := splitEntries(c.Caller, c.After)
	for _, entry := range withRoles(others) {
		// Only users see what roles they have in these networks. For others, the answer
		// must not depend on that.
		if network := networkOf(entry); !c.Caller.Is(c.ID) || !slices.Equal(before[network], after[network]) {
			return message.NetworkNotManaged.Error(message.Params{"field": "/userRoles", "context": network})
		}
	}
	merged := withRoles(slices.Concat(kept, posted))
	if document.Equal(withRoles(held), withRoles(posted)) { // posting what was read does not reorder it
		merged = withRoles(entriesOf(c.Before))
	}
	userRoles, _ := document.Clone(c.After["userRoles"]).(map[string]any)
	if len(merged) > 0 {
		if userRoles == nil {
			userRoles = map[string]any{}
		}
		userRoles["rolesByNetwork"] = merged
	} else {
		delete(userRoles, "rolesByNetwork")
	}
	if len(userRoles) > 0 {
		c.After["userRoles"] = userRoles
	} else {
		delete(c.After, "userRoles")
	}
	return nil
}

// dropEmpty leaves out the entries without roles, and nothing else.
func dropEmpty(c *engine.Change) {
	userRoles, _ := document.Clone(c.After["userRoles"]).(map[string]any)
	if list, listed := userRoles["rolesByNetwork"].([]any); listed {
		userRoles["rolesByNetwork"] = withRoles(list)
		c.After["userRoles"] = userRoles
	}
}

// withRoles returns the entries that have roles. The schema rejects
// values that are not lists.
func withRoles(entries []any) []any {
	return slices.DeleteFunc(slices.Clone(entries), func(entry any) bool {
		members, _ := entry.(map[string]any)
		roles, listed := members["roles"].([]any)
		return members["roles"] == nil || listed && len(roles) == 0
	})
}

// splitEntries separates a user's entries of networks that the caller manages
// from the others. The operator of the service manages all.
func splitEntries(caller *engine.Caller, object map[string]any) (managed, others []any) {
	for _, entry := range entriesOf(object) {
		if caller.System || Manages(caller.Grants[networkOf(entry)]) {
			managed = append(managed, entry)
		} else {
			others = append(others, entry)
		}
	}
	return managed, others
}
