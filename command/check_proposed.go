package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"marquee"
	"marquee/auth/seal"
	"marquee/command/exit"
	"marquee/engine/catalog"
	"marquee/engine/folder"
	"marquee/engine/schema"
	"marquee/engine/schema/diff"
	"marquee/engine/spool"
	"marquee/engine/store"
	"marquee/engine/verify"
)

// checkProposed reports what the set of --proposed would do to the stored objects. It has the
// server do so that has the store open, or opens it.
func (c *checkCommand) checkProposed(ctx context.Context) error {
	if c.Repair {
		return exit.Usagef("--proposed and --repair cannot be combined")
	}
	app := c.program.application()
	proposed, packed, err := c.proposedSet(&app)
	if err != nil {
		return err
	}
	c.opening = newOpening(storeName(c.Store), nil)
	served, err := c.reach(ctx, func() error {
		s, err := c.openStore(ctx, true)
		if err != nil {
			return c.missing(err, "--store")
		}
		return errors.Join(c.proposedHere(ctx, s, &app, proposed), s.Close())
	})
	if served != nil && err == nil {
		err = errors.Join(served.follow(ctx, checkPath, packed, c.print), served.close())
	}
	return err
}

// proposedSet reads the set of --proposed, and returns it also in one piece.
func (c *checkCommand) proposedSet(app *marquee.Application) (*schema.Registry, []byte, error) {
	registry, set, err := loadSet(c.Proposed, app.Load)
	if err := printMistakes(err, c.Proposed, "checked"); err != nil {
		return nil, nil, err
	}
	packed, err := set.Packed()
	if err != nil {
		return nil, nil, exit.Usagef("%s cannot be read: %w", c.Proposed, exit.Cause(err))
	}
	return registry, packed, nil
}

// proposedHere checks the objects of a store that this process has opened. It does not serve
// the types, which would prepare the store for them.
func (c *checkCommand) proposedHere(ctx context.Context, s store.Store, app *marquee.Application, proposed *schema.Registry) error {
	before, err := acceptedTypes(ctx, s, app)
	if err != nil {
		return err
	}
	var sealer catalog.Sealer
	if readsSecrets(before, proposed) {
		keys, err := c.keys(ctx, s)
		if err == nil {
			sealer, err = seal.New(keys...)
		}
		if err != nil {
			return fmt.Errorf("the secret key cannot be used: %w", exit.Cause(err))
		}
	}
	temporary := spool.New("", 0)
	check := storeCheck{store: storeName(c.Store), catalog: catalog.New(s, sealer, app.Lookups, nil), yield: c.print}
	return check.proposed(ctx, before, proposed, func() verify.Temporary { return temporary.Create(ctx, "") })
}

// acceptedTypes returns the set that was accepted last in a store; nil if none was, its files
// are not kept, or this version of the program refuses them.
func acceptedTypes(ctx context.Context, s store.Store, app *marquee.Application) (*schema.Registry, error) {
	known, err := readSets(ctx, s, "0")
	if err != nil && !errors.Is(err, folder.ErrNoSet) {
		return nil, err
	}
	n := len(known.Sets.Sets)
	if n == 0 || known.Sets.Sets[n-1].Unkept {
		return nil, nil
	}
	set := servedSet{Files: known.Files}
	if known.Sets.Sets[n-1].Bytes == 0 {
		set.Files = nil
	}
	types, err := set.types(app, "the set that was accepted last")
	var problems schema.Problems
	if errors.As(err, &problems) {
		return nil, nil
	}
	return types, err
}

// readsSecrets reports whether objects that are read can have secrets.
func readsSecrets(before, proposed *schema.Registry) bool {
	all := proposed.Types()
	var names []string
	if before != nil {
		all, names = append(all, before.Types()...), diff.Concerned(before, proposed)
	}
	return slices.ContainsFunc(all, func(t *schema.Type) bool {
		return t.Shape.HasSecrets && (before == nil || slices.Contains(names, t.Name))
	})
}
