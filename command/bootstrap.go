package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"marquee"
	"marquee/engine/store"
)

// bootstrapFlags say what the first network and user of an empty store are.
type bootstrapFlags struct {
	BootstrapNetwork      string `default:"main" help:"Id and name of the first network." placeholder:"NETWORK"`
	BootstrapUsername     string `default:"admin" help:"Name of the first user." placeholder:"NAME"`
	BootstrapPassword     string `help:"Password of the first user; without it, a random one is generated and printed once." placeholder:"PASSWORD" secret:""`
	BootstrapPasswordFile string `help:"File with that password." placeholder:"FILE"`
}

// initCommand is marquee init.
type initCommand struct {
	storeFlags
	bootstrapFlags
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

// errMadeMeanwhile is returned if, of several servers that start at once on an empty
// store, another one was faster.
var errMadeMeanwhile = errors.New("another server has already created the first network and user; ignore any password printed here")

// bootstrap makes the first network, an administrator role and its user, and
// demonstration data with them. Without a given password it generates one, which it
// prints and returns. The password is printed before it is stored, because nobody could
// sign in to a store whose password was lost.
func (s *service) bootstrap(ctx context.Context, f bootstrapFlags, demo func(marquee.DemoOptions) ([]marquee.DemoStep, error)) (generated string, err error) {
	password := f.BootstrapPassword
	if password == "" {
		generated = rand.Text()
		password = generated
		if _, err := fmt.Printf("The password is %s — keep it: later starts do not show it.\n", password); err != nil {
			return "", fmt.Errorf("the password cannot be printed: %w", err)
		}
	}
	first := marquee.First{Network: f.BootstrapNetwork, Username: f.BootstrapUsername, Password: password, UserID: store.NewID(), RoleID: store.NewID()}
	var steps []marquee.DemoStep
	reading := rand.Text()
	if demo != nil {
		if steps, err = demo(marquee.DemoOptions{Types: s.Engine().Registry(), First: first, Password: reading, Now: time.Now()}); err != nil {
			return "", err
		}
	}
	err = s.MakeFirst(ctx, first, steps...)
	switch {
	case errors.Is(err, marquee.ErrNotEmpty):
		return "", errMadeMeanwhile
	case err != nil:
		return "", fmt.Errorf("the first network and user cannot be made: %w", err)
	}
	fmt.Printf("Created the network %q and the user %q.\n", f.BootstrapNetwork, f.BootstrapUsername)
	if demo != nil {
		fmt.Printf("Created the user \"reader\", who only reads, with the password %s.\n", reading)
	}
	return generated, nil
}
