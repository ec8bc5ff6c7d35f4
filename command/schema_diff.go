package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

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
	Old    string   `arg:"" help:"Folder of the old set, or store: for the set that was accepted last by the servers of the store, or store:NUMBER for an earlier one."`
	New    string   `arg:"" help:"Folder of the new set, or store: or store:NUMBER."`
	FailOn []string `env:"-" help:"Exit with status 1 if a difference is of one of these classes, and not accepted: STORED, REQUEST, RESPONSE, SOURCE." placeholder:"CLASS,…"`
	JSON   bool     `name:"json" env:"-" help:"Print each difference as a line of JSON."`
}

// storeSide begins the name of a side that is a set of the store; the number follows.
const storeSide = "store:"

// diffMemory is the size of the heap, in bytes, from which on a comparison collects garbage more
// often. A comparison of 500 types needs less, so that it takes little more time.
const diffMemory = 160 << 20

func (c *diffCommand) Run(ctx context.Context) error {
	for _, class := range c.FailOn {
		if !slices.Contains(diff.Classes, diff.Class(class)) {
			return exit.Usagef("--fail-on: there is no class %q: name STORED, REQUEST, RESPONSE or SOURCE", class)
		}
	}
	debug.SetMemoryLimit(min(diffMemory, debug.SetMemoryLimit(-1)))
	app := c.program.application()
	var sides [2]*schema.Registry
	for i, name := range []string{c.Old, c.New} {
		registry, err := c.side(ctx, &app, name)
		if err := printMistakes(err, name, "compared"); err != nil {
			return err
		}
		registry.DropValidation()
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
	if number, is := strings.CutPrefix(name, storeSide); is {
		known, err := c.storedSets(ctx, cmp.Or(number, "0"))
		if err != nil {
			return nil, err
		}
		if last := len(known.Sets.Sets) - 1; number == "" && last >= 0 && known.Sets.Sets[last].Bytes == 0 {
			fmt.Fprintf(os.Stderr, "%s: warning: the store has no files of set %d, which was accepted last: %s\n", programName, known.Sets.Sets[last].Number, known.insteadOf())
		}
		set := servedSet{Files: known.Files}
		return set.types(app, strings.TrimSpace("the schemas of the store "+number))
	}
	registry, _, err := loadSet(name, app.Load)
	return registry, err
}

// loadSet loads the set of a folder, which must not change meanwhile.
func loadSet(name string, load func(...schema.Source) (*schema.Registry, error)) (*schema.Registry, *folder.Recorder, error) {
	opened, err := openSet(name)
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	set := folder.Record(opened)
	registry, err := load(schema.Source{Name: name, FS: set})
	if changed := set.Changed(); changed != "" {
		return nil, nil, exit.Usagef("%s in %s was changed or removed while it was read: run the command again", changed, name)
	}
	return registry, set, err
}

// openSet opens a folder that has schemas.
func openSet(name string) (folder.Folder, error) {
	opened, err := folder.Open(name)
	if err != nil {
		return opened, exit.Usagef("%w", err)
	}
	n, err := schemaFiles(opened)
	switch {
	case err != nil:
		err = exit.Usagef("%s cannot be read: %w", name, exit.Cause(err))
	case n == 0:
		err = exit.Usagef("%s holds no schema", name)
	default:
		return opened, nil
	}
	return opened, errors.Join(err, opened.Close())
}

// printMistakes prints the mistakes of a set that err is about, and returns how a command
// ends that needs the set, in which it would be checked, for example.
func printMistakes(err error, name, participle string) error {
	var problems schema.Problems
	if !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	return exit.Usagef("%s cannot be %s: it has %s", name, participle, progress.Counted(int64(len(problems)), "mistake"))
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
