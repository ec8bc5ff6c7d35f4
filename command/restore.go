package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"marquee"
	"marquee/command/backup"
	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/progress"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// restoreCommand is marquee restore.
type restoreCommand struct {
	storeFlags
	Backup       string `arg:"" help:"File of the backup."`
	Force        bool   `env:"-" help:"Replace a store that exists. What it holds is lost."`
	KeepSessions bool   `env:"-" help:"Leave sessions and API tokens valid."`
	Quiet        bool   `help:"Print errors only."`
}

func (c *restoreCommand) Run(ctx context.Context) error {
	file := sqlitePath(c.Store)
	if file == "" {
		return exit.Usagef("the command restores SQLite stores: restore a MongoDB database with mongorestore --oplogReplay, or from snapshots of its volumes, and run %s check", programName)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	app := c.program.application()
	restoration := &backup.Restoration{Backup: c.Backup, File: absolute, Force: c.Force, KeepSessions: c.KeepSessions, Application: &app,
		Keys:  func(ctx context.Context, s store.Store) ([][]byte, error) { return c.keys(ctx, s) },
		Say:   c.say,
		Holds: c.holds}
	err = restoration.Run(ctx)
	var other *marquee.ApplicationError
	switch {
	case errors.Is(err, sqlite.ErrDecided):
		return fmt.Errorf("the restore was not completed: %w", err)
	case errors.As(err, &other):
		err = fmt.Errorf("%w: %s", err, c.program.cureFor(other))
	case err != nil:
		err = exit.InterruptedBy(ctx, exit.Cause(err))
	}
	if err != nil {
		return fmt.Errorf("nothing was restored to %s: %w", terminal.Printable(file), err)
	}
	if c.Quiet {
		return nil
	}
	text := fmt.Sprintf("restored to %s\n", terminal.Printable(file))
	if !c.KeepSessions {
		text += "All sessions have ended, and API tokens are no longer accepted: create new ones.\n"
	}
	_, err = fmt.Print(text)
	return err
}

// say shows the progress on standard error.
func (c *restoreCommand) say(step string) {
	if !c.Quiet {
		fmt.Fprintln(os.Stderr, step)
	}
}

// holds prints what the backup holds.
func (c *restoreCommand) holds(d *backup.Description) error {
	if c.Quiet {
		return nil
	}
	made := "without a description"
	if !d.Time.IsZero() {
		made = "made at " + d.Time.Format(time.RFC3339) + " by version " + terminal.Printable(d.Version)
	}
	_, err := fmt.Printf("%s, %s: %s bytes, application %s, %s\n", terminal.Printable(c.Backup), made, progress.Grouped(d.Size), terminal.Printable(d.Application), holds(d))
	return err
}
