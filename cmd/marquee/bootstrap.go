package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"marquee/auth"
	"marquee/engine"
)

// bootstrapFlags say what the first network and user of an empty store are.
type bootstrapFlags struct {
	BootstrapNetwork  string `default:"main" help:"Id and name of the first network."`
	BootstrapUsername string `default:"admin" help:"Name of the first user."`
	BootstrapPassword string `help:"Password of the first user; without one, a random one is made and printed once." placeholder:"PASSWORD"`
}

// initCommand is marquee init.
type initCommand struct {
	storeFlags
	bootstrapFlags
}

func (c *initCommand) Run() error {
	ctx := context.Background()
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	empty, err := s.empty(ctx)
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("the store is not empty: it has its networks and users already")
	}
	return s.bootstrap(ctx, c.bootstrapFlags, nil)
}

// errMadeMeanwhile says that of several servers that start at once on an empty
// store, another one was faster.
var errMadeMeanwhile = errors.New("another server has made the first network and user meanwhile: a password that was printed here is not used")

// bootstrap makes the first network, an administrator role and its user, and
// more objects with them, in one transaction. A password that it makes is
// printed, once, before it is stored: a store whose password nobody has seen
// could not be used.
func (s *service) bootstrap(ctx context.Context, f bootstrapFlags, more []engine.Operation) error {
	password := f.BootstrapPassword
	if password == "" {
		password = rand.Text()
		if _, err := fmt.Printf("The password is %s — it is not shown again.\n", password); err != nil {
			return fmt.Errorf("the password cannot be printed: %w", err)
		}
	}
	types := s.engine.Registry()
	networks, _ := types.Type("networks")
	roles, _ := types.Type("roles")
	users, _ := types.Type("users")
	user, role := engine.NewID(), engine.NewID()
	permissions := make([]any, len(auth.Permissions))
	for i, permission := range auth.Permissions {
		permissions[i] = permission
	}
	batch := engine.Batch{Network: f.BootstrapNetwork, FieldValidation: engine.Strict, Operations: []engine.Operation{
		{Type: networks, Object: map[string]any{"id": f.BootstrapNetwork, "name": f.BootstrapNetwork}},
		{Type: roles, Object: map[string]any{"id": role, "name": "Administrator", "scope": "NETWORK", "permissions": permissions}},
		{Type: users, Object: map[string]any{"id": user, "username": f.BootstrapUsername, "password": password,
			"userRoles": map[string]any{"rolesByNetwork": []any{map[string]any{
				"network": map[string]any{"id": f.BootstrapNetwork},
				"roles":   []any{map[string]any{"role": map[string]any{"id": role}}}}}}}},
	}}
	batch.Operations = append(batch.Operations, more...)
	if _, err := s.engine.Write(ctx, &engine.Caller{System: true, User: user}, batch); err != nil {
		if empty, unknown := s.empty(ctx); unknown == nil && !empty {
			return errMadeMeanwhile
		}
		return fmt.Errorf("the first network and user cannot be made: %w", err)
	}
	fmt.Printf("Made the network %q and the user %q.\n", f.BootstrapNetwork, f.BootstrapUsername)
	return nil
}
