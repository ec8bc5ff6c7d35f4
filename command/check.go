package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"marquee/command/exit"
	"marquee/engine/progress"
	"marquee/engine/schema"
	"marquee/engine/verify"
)

// checkCommand is marquee check.
type checkCommand struct {
	storeFlags
	unservedFlags
	Repair bool `help:"Add missing index terms and reservations of unique values before checking."`
	Quiet  bool `help:"Print errors only."`
}

func (c *checkCommand) Run(ctx context.Context) error {
	s, err := c.openExisting(ctx, "or create one with "+programName+" init or "+programName+" serve")
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.unservedFlags.check(ctx, s); err != nil {
		return err
	}
	if c.Repair {
		if err := s.Engine().Repair(ctx); err != nil {
			return fmt.Errorf("the store cannot be repaired: %w", exit.InterruptedBy(ctx, err))
		}
	}
	found, err := c.faults(ctx, s)
	if ctx.Err() != nil {
		return errors.New("the check was interrupted")
	}
	switch {
	case err != nil:
		return fmt.Errorf("the check failed: %w", err)
	case found > 0:
		return errors.New(progress.Counted(found, "fault"))
	}
	_, err = fmt.Println("nothing is wrong")
	return err
}

// faults prints what is wrong, and returns how much that is.
func (c *checkCommand) faults(ctx context.Context, s *service) (found int64, err error) {
	report := func(what, text, cure string) error {
		found++
		_, err := fmt.Printf("%s: %s: %s\n", what, text, cure)
		return err
	}
	if file, ok := s.Store().(interface {
		Verify(ctx context.Context, yield func(fault string) error) error
	}); ok {
		c.progress("the file")
		err := file.Verify(ctx, func(fault string) error {
			return report(storeName(c.Store), fault, "restore it from a backup")
		})
		if err != nil {
			return found, err
		}
	}
	last, shown := "", time.Time{}
	err = verify.Verify(ctx, s.Engine().Catalog, verify.Verification{Files: s.application.Verifiers,
		Fault: func(f verify.Fault) error {
			what := f.Type
			if f.ID != "" {
				what += fmt.Sprintf(" %q", f.ID)
			}
			if f.Network != "" {
				what += fmt.Sprintf(" of the network %q", f.Network)
			}
			return report(what, f.Text, f.Cure)
		},
		Progress: func(t *schema.Type, objects int64) {
			if t.Name != last || time.Since(shown) > 5*time.Second {
				last, shown = t.Name, time.Now()
				c.progress(fmt.Sprintf("%s: %s", t.Name, progress.Grouped(objects)))
			}
		}})
	if err != nil {
		return found, err
	}
	err = verify.CheckForms(ctx, s.Engine().Catalog, func(n verify.Nonconforming) error {
		wrong := "does not conform to " + n.Form
		if len(n.Others) > 0 {
			wrong = "is, in the form " + n.Form + ", that of " + strings.Join(n.Others, ", ")
		}
		return report(fmt.Sprintf("%s %s", n.Type.Name, n.ID), fmt.Sprintf("%s %q %s", n.Property, n.Value, wrong), "give it another")
	})
	return found, err
}

func (c *checkCommand) progress(what string) {
	if !c.Quiet {
		fmt.Fprintln(os.Stderr, "checking "+what)
	}
}
