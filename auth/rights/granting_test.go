package rights_test

import (
	"testing"

	"marquee/auth/authtest"
	"marquee/engine"
	"marquee/engine/message"
)

// A caller gives and changes only what the caller holds in scope NETWORK, in networks that
// the caller manages.
func TestGranting(t *testing.T) {
	e, service := authtest.New(t)
	roles := func(network string, ids ...string) map[string]any {
		var list []any
		for _, id := range ids {
			list = append(list, map[string]any{"role": id})
		}
		return map[string]any{"rolesByNetwork": []any{map[string]any{"network": network, "roles": list}}}
	}
	for _, c := range []struct {
		title, caller, of string
		object            map[string]any
		code              *message.Definition
	}{
		{"a role with what the caller holds", "boss east", "users", map[string]any{"id": "reader east", "userRoles": roles("east", "reader", "boss")}, nil},
		{"a role with more", "boss east", "users", map[string]any{"id": "reader east", "userRoles": roles("east", "all")}, message.GrantNotHeld},
		{"a role of another network", "all east", "users", map[string]any{"id": "reader east", "userRoles": roles("west", "reader")}, message.NetworkNotManaged},
		{"taking a role with more", "boss east", "users", map[string]any{"id": "all east", "userRoles": roles("east")}, message.GrantNotHeld},
		{"the own role", "reader east", "users", map[string]any{"id": "reader east", "userRoles": roles("east", "boss")}, message.NetworkNotManaged},
		{"a permission that the caller lacks", "boss east", "roles", map[string]any{"id": "reader", "permissions": []any{"MANAGE_OBJECTS"}}, message.GrantNotHeld},
		{"a permission that the caller holds", "boss east", "roles", map[string]any{"id": "reader", "permissions": []any{"MANAGE_SYSTEM"}}, nil},
		{"a role, by a caller without permissions", "reader east", "roles", map[string]any{"id": "reader", "permissions": []any{}}, message.PermissionMissing},
	} {
		caller, err := service.Member(t.Context(), c.caller)
		if err != nil || caller == nil {
			t.Fatalf("%s: %v", c.caller, err)
		}
		_, err = e.Write(t.Context(), caller, engine.Batch{Network: "east", ValidateOnly: true,
			Operations: []engine.Operation{authtest.Operation(t, e, c.of, c.object)}})
		if (c.code == nil) != (err == nil) || c.code != nil && !c.code.Is(err) {
			t.Errorf("%s: %v", c.title, err)
		}
	}
}
