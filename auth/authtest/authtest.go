// Package authtest gives tests users in an SQLite file, and the service that signs them in.
package authtest

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"marquee/auth"
	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/auth/seal"
	"marquee/engine"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/schemas/base"
)

// Password is the password of all users.
const Password = "the right word 4"

// Key is the key of the sealer.
var Key = []byte("0123456789abcdef0123456789abcdef")

// New returns an engine with two networks, east and west, each with a user with all
// permissions (all), one with MANAGE_SYSTEM only (boss) and one without any (reader).
// Their ids are "all east" and so on, their names "all-east". Each change is made to the
// configuration before the service is created.
func New(t testing.TB, changes ...func(*auth.Config)) (*engine.Engine, *auth.Service) {
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
	must(s.EnsureCollections(ctx, auth.Collections()))
	sealer, err := seal.New(Key)
	must(err)
	config := auth.Config{Store: s, Sealer: sealer, Lifetimes: auth.DefaultLifetimes}
	for _, change := range changes {
		change(&config)
	}
	service, err := auth.New(ctx, config)
	must(err)
	registry, err := schema.Load(schema.Source{FS: base.FS})
	must(err)
	e, err := engine.New(ctx, engine.Config{Store: s, Access: rights.Access{}, Sealer: sealer, Hooks: service.Hooks(), Internal: auth.Collections()}, registry)
	must(err)
	for _, network := range []string{"east", "west"} {
		operations := []engine.Operation{Operation(t, e, "networks", map[string]any{"id": network, "name": network})}
		for role, permissions := range map[string][]any{"all": {schema.DefaultPermission, rights.ManageSystem}, "boss": {rights.ManageSystem}, "reader": {}} {
			operations = append(operations,
				Operation(t, e, "roles", map[string]any{"id": role, "name": role, "scope": "NETWORK", "permissions": permissions}),
				Operation(t, e, "users", map[string]any{"id": role + " " + network, "username": role + "-" + network,
					"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{"network": network, "roles": []any{map[string]any{"role": role}}}}}}))
		}
		must(Write(t, e, network, operations...))
		must(s.Write(ctx, func(tx store.Tx) error {
			for _, role := range []string{"all", "boss", "reader"} {
				if err := password.Put(ctx, tx, role+" "+network, hash(), time.Now()); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return e, service
}

// hash is that of Password, computed once.
var hash = sync.OnceValue(func() string {
	hash, err := password.Hash(context.Background(), "", Password)
	if err != nil {
		panic(err)
	}
	return hash
})

// Clock is a clock that moves only when a test puts it forward.
type Clock struct{ Time time.Time }

// NewClock returns a clock, and the change that makes a service use it.
func NewClock() (*Clock, func(*auth.Config)) {
	c := &Clock{time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)}
	return c, func(config *auth.Config) { config.Now = func() time.Time { return c.Time } }
}

// Advance puts the clock forward.
func (c *Clock) Advance(d time.Duration) { c.Time = c.Time.Add(d) }

// Operation returns the write of an object.
func Operation(t testing.TB, e *engine.Engine, name string, object map[string]any) engine.Operation {
	t.Helper()
	found, err := e.Type(name)
	if err != nil {
		t.Fatal(err)
	}
	return engine.Operation{Type: found, Object: object}
}

// Write writes objects on behalf of the service itself.
func Write(t testing.TB, e *engine.Engine, network string, operations ...engine.Operation) error {
	t.Helper()
	_, err := e.Write(t.Context(), &engine.Caller{System: true}, engine.Batch{Network: network, Operations: operations})
	return err
}
