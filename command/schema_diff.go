package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"marquee"
	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/folder"
	"marquee/engine/progress"
	"marquee/engine/schema"
	"marquee/engine/schema/diff"
)

// diffCommand is marquee schema diff.
type diffCommand struct {
	storeFlags
	Old    string   `arg:"" help:"Folder of the old set, or store: for the set that was accepted last by the servers of the store."`
	New    string   `arg:"" help:"Folder of the new set, or store:."`
	FailOn []string `env:"-" help:"Exit with status 1 if a difference is of one of these classes, and not accepted: STORED, REQUEST, RESPONSE, SOURCE." placeholder:"CLASS,…"`
	JSON   bool     `name:"json" env:"-" help:"Print each difference as a line of JSON."`
}

// storeSide is the name of a side that is the set of the store.
const storeSide = "store:"

func (c *diffCommand) Run(ctx context.Context) error {
	for _, class := range c.FailOn {
		if !slices.Contains(diff.Classes, diff.Class(class)) {
			return exit.Usagef("--fail-on: there is no class %q: name STORED, REQUEST, RESPONSE or SOURCE", class)
		}
	}
	app := c.program.application()
	var sides [2]*schema.Registry
	for i, name := range []string{c.Old, c.New} {
		registry, err := c.side(ctx, &app, name)
		var problems schema.Problems
		if errors.As(err, &problems) {
			for _, p := range problems {
				fmt.Fprintln(os.Stderr, p)
			}
			return exit.Usagef("%s cannot be compared: it has %s", name, progress.Counted(int64(len(problems)), "mistake"))
		}
		if err != nil {
			return err
		}
		sides[i] = registry
	}
	failing := 0
	found := diff.Sets(sides[0], sides[1])
	for _, d := range found {
		if err := c.print(d); err != nil {
			return err
		}
		if d.Accepted == "" && slices.ContainsFunc(c.FailOn, func(class string) bool { return d.Is(diff.Class(class)) }) {
			failing++
		}
	}
	if failing > 0 {
		return fmt.Errorf("%s of the classes of --fail-on", progress.Counted(int64(failing), "difference"))
	}
	if len(found) == 0 && !c.JSON {
		fmt.Println("nothing breaks")
	}
	return nil
}

func (c *diffCommand) print(d diff.Difference) error {
	if c.JSON {
		return terminal.PrintJSON(d)
	}
	_, err := fmt.Println(terminal.Printable(d.String()))
	return err
}

// side loads one of the sets.
func (c *diffCommand) side(ctx context.Context, app *marquee.Application, name string) (*schema.Registry, error) {
	if name == storeSide {
		set, err := c.acceptedSet(ctx)
		if err != nil {
			return nil, err
		}
		return set.types(app, "the schemas of the store")
	}
	opened, err := folder.Open(name)
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	defer opened.Close()
	n, err := schemaFiles(opened)
	if err == nil && n == 0 {
		return nil, exit.Usagef("%s holds no schema", name)
	}
	if err != nil {
		return nil, exit.Usagef("%s cannot be read: %w", name, exit.Cause(err))
	}
	return app.Load(schema.Source{Name: name, FS: opened})
}

// acceptedSet returns the set that the servers of the store have accepted last. A store that
// is not being served is opened for it.
func (f *storeFlags) acceptedSet(ctx context.Context) (set servedSet, err error) {
	f.opening = newOpening(storeName(f.Store), nil)
	o, err := f.reach(ctx, func() error {
		s, err := f.openStore(ctx, true)
		if err == nil {
			set.Files, _, err = folder.Packed(ctx, s)
			err = errors.Join(err, s.Close())
		}
		return err
	})
	if err == nil && o != nil {
		err = errors.Join(o.call(ctx, http.MethodGet, "/operator/import", nil, nil, &set), o.close())
	}
	return set, err
}

// types loads the files of the set; without any, it is that of the application alone.
func (s *servedSet) types(app *marquee.Application, name string) (*schema.Registry, error) {
	if s.Files == nil {
		return app.Load()
	}
	files, err := folder.Unpack(s.Files)
	if err != nil {
		return nil, err
	}
	return app.Load(schema.Source{Name: name, FS: files})
}
