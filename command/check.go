package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/progress"
	"marquee/engine/verify"
)

// checkCommand is marquee check.
type checkCommand struct {
	storeFlags
	unservedFlags
	Proposed string `type:"folder" env:"-" help:"Folder with a set of schemas: list what it would do to the stored objects, and change nothing." placeholder:"DIR"`
	Repair   bool   `help:"Add missing index terms and reservations of unique values before checking."`
	JSON     bool   `name:"json" env:"-" help:"Print each fault as a line of JSON."`
	Quiet    bool   `help:"Print errors only."`

	// found is the number of faults that were printed.
	found int64
	pace  pace
}

func (c *checkCommand) Run(ctx context.Context) error {
	if c.Proposed != "" {
		return c.ended(ctx, "finding", "the set suits all stored objects", c.checkProposed(ctx))
	}
	var here *service
	served, err := c.reach(ctx, func() (err error) {
		here, err = c.openExisting(ctx, "or create one with "+programName+" init or "+programName+" serve")
		return err
	})
	if err != nil {
		return err
	}
	if served != nil {
		if c.Repair {
			return errors.Join(exit.Usagef("--repair needs the store for itself: stop the server"), served.close())
		}
		return c.ended(ctx, "fault", "nothing is wrong", errors.Join(served.follow(ctx, checkPath, nil, c.print), served.close()))
	}
	defer here.close()
	if err := c.unservedFlags.check(ctx, here); err != nil {
		return err
	}
	if c.Repair {
		if err := here.Engine().Repair(ctx); err != nil {
			return fmt.Errorf("the store cannot be repaired: %w", exit.InterruptedBy(ctx, err))
		}
	}
	check := storeCheck{store: storeName(c.Store), catalog: here.Engine().Catalog, yield: c.print}
	return c.ended(ctx, "fault", "nothing is wrong", check.stored(ctx, here.application.Verifiers))
}

// ended returns how the command ends after a check, and says so if nothing was found.
func (c *checkCommand) ended(ctx context.Context, what, nothing string, err error) error {
	switch {
	case ctx.Err() != nil:
		return errors.New("the check was interrupted")
	case exit.IsUsage(err):
		return err
	case err != nil && (c.found == 0 || c.Proposed != ""):
		return exit.WithStatus(fmt.Errorf("the check failed: %w", err), exit.Usage)
	case err != nil:
		return fmt.Errorf("the check failed: %w", err)
	case c.found > 0:
		return errors.New(progress.Counted(c.found, what))
	case c.JSON:
		return nil
	}
	_, err = fmt.Println(nothing)
	return err
}

// print prints what a check reports.
func (c *checkCommand) print(line checkLine) error {
	switch {
	case line.Fault != nil:
		c.found++
		if c.JSON {
			return terminal.PrintJSON(line.Fault)
		}
		_, err := fmt.Println(terminal.Printable(line.Fault.String()))
		return err
	case line.Finding != nil:
		c.found++
		if c.JSON {
			return terminal.PrintJSON(line.Finding)
		}
		return printFinding(line.Finding)
	case line.Checking != "" && !c.Quiet && c.pace.due(line.Checking, sayEvery):
		text := "checking " + line.Checking
		if line.Objects > 0 {
			text += ": " + progress.Grouped(line.Objects)
		}
		fmt.Fprintln(os.Stderr, text)
	}
	return nil
}

// printFinding prints a finding, and the first objects below it.
func printFinding(f *verify.Finding) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s%s: %s: %s: %s\n", f.Type, terminal.Printable(f.At), f.Rule, terminal.Printable(f.Text), progress.Counted(f.Objects, "object"))
	for _, object := range f.First {
		fmt.Fprintf(&text, "  %q", object.ID)
		if object.Network != "" {
			fmt.Fprintf(&text, " of the network %q", object.Network)
		}
		if object.With != "" {
			fmt.Fprintf(&text, ": %q", object.With)
		}
		text.WriteString("\n")
	}
	if more := f.Objects - int64(len(f.First)); more > 0 {
		fmt.Fprintf(&text, "  and %s more\n", progress.Grouped(more))
	}
	_, err := fmt.Print(text.String())
	return err
}
