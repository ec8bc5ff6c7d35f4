// Package rights decides what callers can see and change, by their roles and teams, and
// has the rules for users, roles, teams and networks. It imports cache and password of
// auth, engine, catalog, document, message, query, schema and store. Begin with Access for
// what a caller sees, and with Hooks for what a caller can grant.
package rights

import (
	"marquee/auth/password"
	"marquee/engine/store"
)

// Rules are the rules for users, roles, teams and networks.
type Rules struct {
	Store store.Store
	// Passwords is what passwords must satisfy when they are set.
	Passwords password.Policy
	// Attempts counts wrong guesses of current passwords.
	Attempts *password.Attempts
	// Networks bounds in how many networks a user has roles.
	Networks NetworkLimits
	// BuiltIn are the built-in permissions. A role with all of them has every permission.
	BuiltIn []string
}

// NetworkLimits bound in how many networks a user has roles, all of which are read and
// remembered for each request of the user. 0 means DefaultMaxNetworks.
type NetworkLimits struct {
	// Created is for networks that the user has created, and Granted for all others.
	Created, Granted int
}

// DefaultMaxNetworks is in how many networks a user can have roles, of those that the
// user has created and of all others.
const DefaultMaxNetworks = 1000
