package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"marquee"
	"marquee/auth"
	"marquee/auth/seal"
	"marquee/auth/signing"
	"marquee/command/backup"
	"marquee/command/copying"
	"marquee/command/exit"
	"marquee/command/terminal"
	"marquee/engine/catalog"
	"marquee/engine/folder"
	"marquee/engine/progress"
	"marquee/engine/read"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// copyCommand is marquee copy.
type copyCommand struct {
	served
	From              string `help:"The store that is copied, which nobody serves: sqlite:PATH, mongodb://HOST,…/DATABASE or mongodb+srv://HOST/DATABASE." placeholder:"URI" secret:"uri"`
	FromFile          string `help:"File with that URI." placeholder:"FILE"`
	To                string `help:"The store that it is copied to: one that does not exist, is empty, or is the incomplete copy of a run that was interrupted." placeholder:"URI" secret:"uri"`
	ToFile            string `help:"File with that URI." placeholder:"FILE"`
	FromSecretKey     string `help:"Key of the source, as of --secret-key of the other commands." placeholder:"BASE64" secret:""`
	FromSecretKeyFile string `help:"File with that key; by default the one beside the SQLite file, or ./marquee-data/marquee.key." placeholder:"FILE" followed:""`
	ToSecretKey       string `help:"Key of the target. Secrets are encrypted with it." placeholder:"BASE64" secret:""`
	ToSecretKeyFile   string `help:"File with that key, by default as with --from-secret-key-file. It is made if there is none." placeholder:"FILE" followed:""`
	Quiet             bool   `help:"Print errors only."`

	pace pace
}

func (c *copyCommand) Run(ctx context.Context) error {
	from := &storeFlags{Store: c.From, SecretKey: c.FromSecretKey, SecretKeyFile: c.FromSecretKeyFile, served: c.served, copies: "from"}
	to := &storeFlags{Store: c.To, SecretKey: c.ToSecretKey, SecretKeyFile: c.ToSecretKeyFile, served: c.served, copies: "to"}
	if c.From == "" || c.To == "" {
		return exit.Usagef("--from and --to are needed")
	}
	if c.From == c.To || sameFile(sqlitePath(c.From), sqlitePath(c.To)) {
		return exit.Usagef("--from and --to are the same store")
	}
	if err := c.overwrites(from, to); err != nil {
		return err
	}
	source, err := from.openForCopy(ctx)
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", exit.InterruptedBy(ctx, exit.Cause(from.missing(err, "--from"))))
	}
	defer source.Close() // from which was only read
	return c.run(ctx, from, to, source)
}

// overwrites returns an error if the file of the target is, or keeps beside itself, one that the
// source needs, or a key.
func (c *copyCommand) overwrites(from, to *storeFlags) error {
	target := sqlitePath(c.To)
	if target == "" {
		return nil
	}
	for _, file := range [][2]string{
		{"the source", sqlitePath(c.From)},
		{"the key of the source", from.keyFile()}, {"the retired keys of the source", seal.RetiredKeys(from.keyFile())},
		{"the key of the target", to.keyFile()}, {"the retired keys of the target", seal.RetiredKeys(to.keyFile())},
	} {
		if what, path := file[0], file[1]; path != "" && sqlite.Shares(target, path) {
			return exit.Usagef("--to: %s would overwrite %s, or a file that belongs to it: choose another name", target, what)
		}
	}
	return nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(first, second)
}

func (c *copyCommand) run(ctx context.Context, from, to *storeFlags, source store.Portable) (err error) {
	old, err := c.examine(ctx, from, source)
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", err)
	}
	if _, err := to.givenKeys(); err != nil && !errors.Is(err, fs.ErrNotExist) { // before the target is made
		return fmt.Errorf("nothing was copied: the key of the target cannot be used: %w", exit.Cause(err))
	}
	target, err := to.openForCopy(ctx)
	if err != nil {
		return fmt.Errorf("nothing was copied: %w", exit.Cause(err))
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := target.EnsureCollections(ctx, auth.Collections()); err != nil {
		return err
	}
	keys, err := to.keys(ctx, target)
	if err != nil {
		return fmt.Errorf("nothing was copied: the key of the target cannot be used: %w", exit.Cause(err))
	}
	for _, key := range old {
		if !slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(key) }) {
			keys = append(keys, key)
		}
	}
	sealer, err := seal.New(keys...)
	if err != nil {
		return err
	}
	// Without the key of cursors, positions of the source are refused: they lead elsewhere in the
	// target.
	without := []string{backup.Collection.Name, read.CursorKeys.Name}
	job := &copying.Job{From: source, To: target, Without: without, Sealer: sealer, Say: c.say,
		Unserved: func(ctx context.Context) error { return unserved(ctx, source) }}
	sums, err := job.Run(ctx)
	if err != nil {
		if errors.Is(err, copying.ErrDiffers) || errors.Is(err, copying.ErrOtherKey) {
			return fmt.Errorf("the copy is not complete: %w", err)
		}
		return fmt.Errorf("the copy is not complete; run the same command again to continue: %w", exit.InterruptedBy(ctx, exit.Cause(err)))
	}
	return c.print(ctx, source, sums)
}

// openForCopy opens a store that is copied, or the one that it is copied to.
func (f *storeFlags) openForCopy(ctx context.Context) (s store.Portable, err error) {
	f.opening = newOpening(storeName(f.Store), nil)
	err = f.opening.persist(ctx, func(ctx context.Context) error {
		s, err = f.openStore(ctx, f.copies == "from")
		return err
	})
	path := sqlitePath(f.Store)
	if f.copies != "from" || path == "" {
		return s, err
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		if info, wrong := os.Stat(path + "-wal"); wrong == nil && info.Size() > 0 {
			return nil, err // without which the file is not the store
		}
		opened, err := sqlite.OpenCopy(path)
		if err != nil {
			return nil, err
		}
		if !opened.IsCurrent() {
			return nil, errors.Join(fmt.Errorf("an earlier version wrote %s: copy the file and its key to where it can be written, and use that one", path), opened.Close())
		}
		return opened, nil
	}
	if err == nil {
		if err = marquee.EnsureApplication(ctx, s); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, err
}

// examine returns an error if a store cannot be copied, and otherwise its keys.
func (c *copyCommand) examine(ctx context.Context, f *storeFlags, source store.Store) (keys [][]byte, err error) {
	app := c.program.application()
	stored, err := marquee.StoredApplication(ctx, source)
	if err != nil {
		return nil, err
	}
	opened := app.Name
	if opened == "" {
		opened = none
	}
	if stored != "" && stored != opened {
		other := &marquee.ApplicationError{Stored: stored, Opened: opened}
		return nil, exit.Usagef("%w: %s", other, c.program.cureFor(other))
	}
	if err := unserved(ctx, source); err != nil {
		return nil, err
	}
	if keys, err = f.givenKeys(); exit.IsUsage(err) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("the key of the source cannot be read: %w: check --from-secret-key and --from-secret-key-file", exit.Cause(err))
	}
	sealer, err := seal.New(keys...)
	if err == nil {
		err = source.Read(ctx, func(s store.Snapshot) error { return signing.Check(ctx, s, sealer) })
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the source is not the one that it was served with: %w", exit.Cause(err))
	}
	return keys, nil
}

// unserved returns an error if a server serves a store. That of an SQLite store locks it.
func unserved(ctx context.Context, source store.Store) error {
	if _, ok := source.(*sqlite.Store); ok {
		return nil
	}
	sets, err := folder.Known(ctx, source)
	if err != nil || len(sets.Servers) == 0 {
		return err
	}
	return fmt.Errorf("the source is being served by %s, which was there at %s: stop it; a server that has crashed counts as gone after two minutes",
		terminal.Printable(sets.Servers[0].Name), sets.Servers[0].Seen.Format(time.RFC3339))
}

// say shows the progress on standard error.
func (c *copyCommand) say(step string, items int64) {
	if c.Quiet || !c.pace.due(step, sayEvery) {
		return
	}
	if items > 0 {
		step += ": " + progress.Grouped(items)
	}
	fmt.Fprintln(os.Stderr, step)
}

// print prints what was copied.
func (c *copyCommand) print(ctx context.Context, source store.Store, sums map[string]copying.Sum) error {
	if c.Quiet {
		return nil
	}
	d := &backup.Description{Objects: map[string]int64{}}
	err := source.Read(ctx, func(s store.Snapshot) error {
		types, err := catalog.ReadAll(ctx, s)
		for name := range types {
			d.Objects[name] = sums[name].Items
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Printf("copied to %s: %s, %s; the digests of both stores agree\n", storeName(c.To), holds(d), progress.Counted(sums[store.ChangesPart].Items, "change"))
	return err
}
