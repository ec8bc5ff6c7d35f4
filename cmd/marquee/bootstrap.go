package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"marquee"
	"marquee/engine"
)

// bootstrapFlags say what the first network and user of an empty store are.
type bootstrapFlags struct {
	BootstrapNetwork  string `default:"main" help:"Id and name of the first network." placeholder:"NETWORK"`
	BootstrapUsername string `default:"admin" help:"Name of the first user." placeholder:"NAME"`
	BootstrapPassword string `help:"Password of the first user; without it, a random one is generated and printed once." placeholder:"PASSWORD"`
}

// initCommand is marquee init.
type initCommand struct {
	storeFlags
	bootstrapFlags
}

// Help implements kong.HelpProvider.
func (initCommand) Help() string {
	return examples("marquee init", "marquee init --bootstrap-network north --bootstrap-username kari")
}

func (c *initCommand) Run(ctx context.Context) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	empty, err := s.Empty(ctx)
	if err != nil {
		return err
	}
	if !empty {
		return marquee.ErrNotEmpty
	}
	_, err = s.bootstrap(ctx, c.bootstrapFlags, nil)
	return err
}

// errMadeMeanwhile says that of several servers that start at once on an empty
// store, another one was faster.
var errMadeMeanwhile = errors.New("another server has made the first network and user meanwhile: a password that was printed here is not used")

// bootstrap makes the first network, an administrator role and its user, and
// more objects with them, in one transaction. Without a given password it
// generates one, which it prints and returns. The password is printed before it
// is stored, because nobody could sign in to a store whose password was lost.
func (s *service) bootstrap(ctx context.Context, f bootstrapFlags, more []engine.Operation) (generated string, err error) {
	password := f.BootstrapPassword
	if password == "" {
		generated = rand.Text()
		password = generated
		if _, err := fmt.Printf("The password is %s — keep it: later starts do not show it.\n", password); err != nil {
			return "", fmt.Errorf("the password cannot be printed: %w", err)
		}
	}
	err = s.MakeFirst(ctx, marquee.First{Network: f.BootstrapNetwork, Username: f.BootstrapUsername, Password: password}, more...)
	switch {
	case errors.Is(err, marquee.ErrNotEmpty):
		return "", errMadeMeanwhile
	case err != nil:
		return "", fmt.Errorf("the first network and user cannot be made: %w", err)
	}
	fmt.Printf("Created the network %q and the user %q.\n", f.BootstrapNetwork, f.BootstrapUsername)
	return generated, nil
}
