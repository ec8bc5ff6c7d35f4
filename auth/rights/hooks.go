package rights

import "marquee/engine"

// Hooks returns the rules of users, roles, teams and networks: callers can grant only
// permissions that they hold.
func (r *Rules) Hooks() map[string]engine.Hooks {
	return map[string]engine.Hooks{
		"users":    {Prepare: r.prepareUser, BeforeValidate: engine.Each(r.userBeforeValidate), BeforeStore: r.usersBeforeStore, BeforeRender: userBeforeRender, Hidden: []string{"userRoles"}},
		"roles":    {BeforeValidate: engine.Each(roleBeforeValidate), BeforeStore: guardRoles, Derive: warnUndeclared},
		"teams":    {Validate: validateTeams},
		"networks": {Prepare: prepareNetwork, BeforeStore: r.networksBeforeStore},
	}
}
