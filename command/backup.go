package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"marquee"
	"marquee/auth"
	"marquee/auth/seal"
	"marquee/command/backup"
	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/progress"
	"marquee/engine/store/sqlite"
)

// backupCommand is marquee backup.
type backupCommand struct {
	storeFlags
	Target string `arg:"" help:"Folder that exists, in which the backup gets a name with the time, or file, which is replaced if it is a backup."`
	Keep   *int   `env:"-" help:"Remove older backups of the store from the folder, and keep this number." placeholder:"NUMBER"`
	JSON   bool   `name:"json" env:"-" help:"Print JSON."`
	Quiet  bool   `help:"Print errors only."`

	pace pace
}

func (c *backupCommand) Run(ctx context.Context) error {
	file := sqlitePath(c.Store)
	switch {
	case file == "":
		return exit.Usagef("the command copies an SQLite store: back up a MongoDB database with mongodump --oplog, or with snapshots of its volumes, and run %s check after a restore", programName)
	case c.Keep != nil && *c.Keep < 1:
		return exit.Usagef("--keep must be at least 1")
	case c.Target == "":
		return exit.Usagef("name the target: a folder or a file")
	}
	target, err := filepath.Abs(c.Target) // the server may have another working folder
	if err != nil {
		return err
	}
	if strings.HasSuffix(c.Target, "/") {
		target += "/" // must be a folder
	}
	if info, err := os.Stat(target); c.Keep != nil && (err != nil || !info.IsDir()) {
		return exit.Usagef("--keep needs a folder as the target, and %s is none", c.Target)
	}
	if c.Keep == nil {
		c.Keep = new(int)
	}
	var result *backup.Result
	served, err := c.reach(ctx, func() (err error) {
		result, err = c.here(ctx, file, target)
		return err
	})
	if served != nil && err == nil {
		result, err = c.there(ctx, served, target)
		err = errors.Join(err, served.close())
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", unfinished(result), exit.InterruptedBy(ctx, exit.Cause(err)))
	}
	if result == nil {
		return err
	}
	return errors.Join(err, c.print(result))
}

// unfinished says what an error leaves of a backup.
func unfinished(result *backup.Result) string {
	if result == nil {
		return "the backup failed"
	}
	return "the backup is complete; recording it in the store or removing older ones was not possible"
}

// here makes a backup of a store that no server has open.
func (c *backupCommand) here(ctx context.Context, file, target string) (result *backup.Result, err error) {
	c.opening = newOpening(storeName(c.Store), nil)
	opened, err := c.openStore(ctx, true)
	if err != nil {
		return nil, c.missing(err, "--store")
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if err := opened.EnsureCollections(ctx, append(auth.Collections(), backup.Collection)); err != nil {
		return nil, err
	}
	app := c.program.application()
	var other *marquee.ApplicationError // is copied as well
	if err := marquee.CheckApplication(ctx, opened, &app); err != nil && !errors.As(err, &other) {
		return nil, err
	}
	var sealer *seal.Sealer // nil if the key is not here
	if keys, err := c.keys(ctx, opened); err == nil {
		if sealer, err = seal.New(keys...); err != nil {
			return nil, err
		}
	} else if exit.IsUsage(err) {
		return nil, err
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	job := &backup.Job{Store: opened.(*sqlite.Store), File: absolute, Target: target, Keep: *c.Keep, Sealer: sealer,
		Version: programVersion(c.program.Version), Say: c.say}
	return job.Run(ctx)
}

// there has the server make the backup that has the store open.
func (c *backupCommand) there(ctx context.Context, o *operator, target string) (result *backup.Result, err error) {
	body, err := json.Marshal(backupRequest{Target: target, Keep: *c.Keep})
	if err != nil {
		return nil, err
	}
	err = followLines(ctx, o, "/operator/backup", body, "make backups", func(line backupLine) (last bool, err error) {
		if result = line.Result; line.Failed != "" {
			err = errors.New(line.Failed)
		}
		if result != nil || err != nil {
			return true, err
		}
		c.say(line.Step, line.Done, line.Total)
		return false, nil
	})
	return result, err
}

// say shows the progress on standard error.
func (c *backupCommand) say(step string, done, total int64) {
	if c.Quiet || !c.pace.due(step, sayEvery) {
		return
	}
	if total > 0 {
		step += fmt.Sprintf(": %s of %s bytes", progress.Grouped(done), progress.Grouped(total))
	}
	fmt.Fprintln(os.Stderr, step)
}

// print prints what was made.
func (c *backupCommand) print(result *backup.Result) error {
	if !result.SecretKey.Fits {
		fmt.Fprintf(os.Stderr, "%s: warning: the secret key is missing, or is not that of the store: the backup can be restored only with the key that the store was served with\n", programName)
	}
	switch {
	case c.JSON:
		return terminal.PrintJSON(result)
	case c.Quiet:
		return nil
	}
	text := fmt.Sprintf("%s: %s bytes, %s\n", terminal.Printable(result.Path), progress.Grouped(result.Size), holds(result.Description))
	for _, path := range result.Removed {
		text += "removed " + terminal.Printable(path) + "\n"
	}
	_, err := fmt.Print(text)
	return err
}

// holds says how many objects a backup has.
func holds(d *backup.Description) string {
	var total int64
	var types []string
	for _, name := range slices.Sorted(maps.Keys(d.Objects)) {
		if n := d.Objects[name]; n > 0 {
			total += n
			types = append(types, progress.Grouped(n)+" "+terminal.Printable(name))
		}
	}
	text := progress.Counted(total, "object")
	if len(types) > 0 {
		text += " (" + strings.Join(types, ", ") + ")"
	}
	return text
}
