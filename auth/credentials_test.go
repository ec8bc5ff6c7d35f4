package auth

import (
	"context"
	"path/filepath"
	"testing"

	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store/sqlite"
	"marquee/schemas/base"
)

// engineWithUsers has two networks, each with a user with all permissions (all), one
// with MANAGE_SYSTEM only (boss) and one without any (reader). Their ids end with the
// network, and their password is "the right word 4".
func engineWithUsers(t *testing.T) (*engine.Engine, *Service) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	must(err)
	t.Cleanup(func() { s.Close() })
	must(s.EnsureCollections(ctx, Collections()))
	sealer, err := seal.New(keySeed)
	must(err)
	service, err := NewService(ctx, s, sealer, DefaultLifetimes, nil)
	must(err)
	registry, err := schema.Load(schema.Source{FS: base.FS})
	must(err)
	e, err := engine.New(ctx, engine.Config{Store: s, Access: Access{}, Sealer: sealer, Hooks: service.Hooks(), Internal: Collections()}, registry)
	must(err)
	for _, network := range []string{"east", "west"} {
		batch := engine.Batch{Network: network, Operations: []engine.Operation{operation(t, e, "networks", map[string]any{"id": network, "name": network})}}
		for role, permissions := range map[string][]any{"all": anyList([]string{schema.DefaultPermission, ManageSystem}), "boss": {ManageSystem}, "reader": {}} {
			batch.Operations = append(batch.Operations,
				operation(t, e, "roles", map[string]any{"id": role, "name": role, "scope": "NETWORK", "permissions": permissions}),
				operation(t, e, "users", map[string]any{"id": role + " " + network, "username": role + "-" + network, "password": "the right word 4",
					"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{"network": network, "roles": []any{map[string]any{"role": role}}}}}}))
		}
		_, err := e.Write(ctx, &engine.Caller{System: true}, batch)
		must(err)
	}
	return e, service
}

func operation(t *testing.T, e *engine.Engine, name string, object map[string]any) engine.Operation {
	t.Helper()
	found, err := e.Type(name)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Operation{Type: found, Object: object}
}

// TestRejectionsTakeTheSameTime: the number of hashes does not depend on a guessed
// password when the response does not either.
func TestRejectionsTakeTheSameTime(t *testing.T) {
	e, service := engineWithUsers(t)
	write := func(caller, network, user string, patch map[string]any) (int64, error) {
		t.Helper()
		m, err := service.callers.find(t.Context(), caller)
		if err != nil || m == nil {
			t.Fatalf("%s: %v", caller, err)
		}
		patch["id"] = user
		before := hashes.Load()
		_, err = e.Write(context.Background(), m.caller, engine.Batch{Network: network, ValidateOnly: true,
			Operations: []engine.Operation{operation(t, e, "users", patch)}})
		return hashes.Load() - before, err
	}
	for _, c := range []struct {
		title, caller, network, user string
		code                         *message.Definition
		hashes                       int64
	}{
		{"a user that is not visible", "boss east", "", "reader west", message.ObjectNotFound, 0},
		{"nor in the caller's network", "boss east", "east", "all west", message.ObjectNotFound, 0},
		{"a visible user with more permissions", "boss east", "east", "all east", message.UserNotManaged, 0},
		{"by a caller without permission", "reader east", "", "all east", message.PermissionMissing, 0},
		{"by a caller without permission, and there is no such user", "reader east", "", "nobody", message.PermissionMissing, 0},
		{"by the user, without the current password", "reader east", "", "reader east", message.CurrentPasswordWrong, 1},
	} {
		for _, guess := range []string{"the right word 4", "the wrong word 4"} {
			n, err := write(c.caller, c.network, c.user, map[string]any{"password": guess})
			if !c.code.Is(err) || n != c.hashes {
				t.Errorf("%s: %s hashes %d times, not %d: %v", c.title, guess, n, c.hashes, err)
			}
		}
	}
	if n, err := write("boss east", "east", "reader east", map[string]any{"password": "the wrong word 4"}); err != nil || n != 2 {
		t.Errorf("a caller with permission: %d, %v", n, err)
	}
}

// TestSignInTakesTheSameTime: also for an unknown name and for an inactive user.
func TestSignInTakesTheSameTime(t *testing.T) {
	e, service := engineWithUsers(t)
	off := operation(t, e, "users", map[string]any{"id": "reader east", "objectState": "INACTIVE"})
	if _, err := e.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Operations: []engine.Operation{off}}); err != nil {
		t.Fatal(err)
	}
	for name, password := range map[string]string{"all-east": "the wrong word 4", "nobody": "the right word 4", "all east": "the right word 4",
		"\x00": "the right word 4", "": "", "reader-east": "the right word 4", "reader-EAST": "the wrong word 4"} {
		before := hashes.Load()
		if _, err := service.Password(t.Context(), "192.0.2.1", name, password, ""); !message.InvalidGrant.Is(err) || hashes.Load()-before != 1 {
			t.Errorf("%q: %d, %v", name, hashes.Load()-before, err)
		}
	}
}

// TestLongPasswordsAreSet: the limits count characters, as the schema does.
func TestLongPasswordsAreSet(t *testing.T) {
	e, service := engineWithUsers(t)
	long := ""
	for range maxPassword {
		long += "ø"
	}
	object := map[string]any{"id": "reader east", "password": long}
	if _, err := e.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Operations: []engine.Operation{operation(t, e, "users", object)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Password(t.Context(), "192.0.2.1", "reader-east", long, ""); err != nil {
		t.Error(err)
	}
}

// TestTheServiceKeepsAdministrators: the rule also applies to imports and commands.
func TestTheServiceKeepsAdministrators(t *testing.T) {
	e, _ := engineWithUsers(t)
	write := func(objects ...engine.Operation) error {
		_, err := e.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Network: "east", Operations: objects})
		return err
	}
	boss := operation(t, e, "users", map[string]any{"id": "boss east", "objectState": "INACTIVE"})
	if err := write(boss); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"users", "roles"} {
		id := map[string]string{"users": "all east", "roles": "all"}[name]
		if err := write(operation(t, e, name, map[string]any{"id": id, "objectState": "INACTIVE"})); !message.LastAdministrator.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	back := operation(t, e, "users", map[string]any{"id": "boss east", "objectState": "ACTIVE"})
	if err := write(operation(t, e, "users", map[string]any{"id": "all east", "objectState": "INACTIVE"}), back); err != nil {
		t.Error(err)
	}
}
