package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"marquee/engine/store"
)

// keepCopy copies the store beside itself before its format is upgraded from a version,
// and reports how to go back.
func (s *Store) keepCopy(ctx context.Context, c *conn, version int64) error {
	if s.options.NoUpgradeCopy {
		return nil
	}
	store.Step(ctx, "copying the store before its upgrade")
	path, err := filepath.Abs(s.options.Path) // the command is for any folder
	if err != nil {
		return err
	}
	kept := fmt.Sprintf("%s.version-%d", path, version)
	if err := c.copyTo(kept); err != nil {
		cure := "it cannot be copied before the upgrade of its format; check the disk and its free space, or start once with --no-upgrade-backup"
		if code, _ := store.CodeOf(translate(ctx, err)); code == store.CodeFull {
			cure = "the disk has no room for the copy that is made before the upgrade of its format; free space, or start once with --no-upgrade-backup"
		}
		return notUsable(path, cure, err)
	}
	back := fmt.Sprintf("rm -f %s %s && cp -p %s %s", quote(path+"-wal"), quote(path+"-shm"), quote(kept), quote(path))
	if s.options.Log != nil {
		s.options.Log.Warn("the store was copied before its upgrade; to go back, stop the service, run the command, and start the earlier version",
			slog.String("copy", kept), slog.String("command", back))
	}
	if s.options.Copied != nil {
		s.options.Copied(kept, back)
	}
	return nil
}

// copyTo writes what the store contains to a new file that nobody else can read. It
// replaces an earlier copy when it is complete.
func (c *conn) copyTo(path string) (err error) {
	if err := c.roomToCopy(filepath.Dir(path)); err != nil {
		return err
	}
	partial := path + ".partial"
	file, err := os.OpenFile(partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- beside the store
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	if err := file.Close(); err != nil {
		return err
	}
	if err := c.run("VACUUM INTO ?", partial); err != nil { // makes the file durable
		return err
	}
	return os.Rename(partial, path)
}

// roomToCopy returns an error if a copy of the store does not fit on the disk of a folder. When
// writing the copy fails, that is no longer known, because SQLite has truncated it.
func (c *conn) roomToCopy(folder string) error {
	var counts [3]int64
	for i, name := range []string{"page_count", "freelist_count", "page_size"} {
		n, err := c.pragma(name)
		if err != nil {
			return err
		}
		counts[i] = n
	}
	return roomFor((counts[0]-counts[1])*counts[2], folder)
}

// quote returns a word of a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
