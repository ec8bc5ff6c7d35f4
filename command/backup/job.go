package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"marquee/auth/seal"
	"marquee/engine/store/sqlite"
)

// Job is one backup of a store.
type Job struct {
	Store *sqlite.Store
	// File is the path of the store.
	File string
	// Target is a file, which is replaced if it is a backup, or a folder, in which the backup
	// gets a name with the time.
	Target string
	// Keep is the number of backups of the store that remain in the folder; 0 keeps all.
	Keep int
	// Sealer has the key that the store is served with, nil if it is not known.
	Sealer  *seal.Sealer
	Version string
	// Say is called with each step; done and total are numbers of bytes, 0 if that is not
	// known.
	Say func(step string, done, total int64)
}

// Result is a backup that was made.
type Result struct {
	Path string `json:"path"`
	*Description
	// Removed are older backups that were removed.
	Removed []string `json:"removed,omitempty"`
}

// timeForm is the form of the time in names, which are in its order.
const timeForm = "20060102T150405.000Z"

// Run makes the backup. Nothing has its name before it is complete, verified and durable, and
// until then, a backup that it replaces stays as it is. An error beside a result is one of what
// follows. The store must have Collection.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	began := time.Now().UTC()
	base := strings.TrimSuffix(filepath.Base(j.File), ".db")
	path, reserved, folder := j.Target, j.Target, false
	if info, err := os.Stat(j.Target); err == nil && info.IsDir() {
		folder = true
		path = filepath.Join(j.Target, base+"-"+began.Format(timeForm)+".db")
		reserved = filepath.Join(j.Target, base)
	} else if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() || strings.HasSuffix(j.Target, "/") {
		return nil, fmt.Errorf("there is no folder for %s: create it", j.Target)
	}
	if sqlite.Shares(path, j.File) {
		return nil, fmt.Errorf("%s is a file of the store: choose another name", path)
	}
	partial := reserved + ".partial"
	if err := replaceable(path, partial); err != nil {
		return nil, err
	}
	place, err := sqlite.Reserve(reserved)
	if errors.Is(err, sqlite.ErrInUse) {
		return nil, fmt.Errorf("%s is in use: another backup is being written there, or it is a store that a process has open", reserved)
	}
	if err != nil {
		return nil, fmt.Errorf("%s.lock cannot be locked: check that the folder is writable", reserved)
	}
	defer place.Close()
	d := &Description{Version: j.Version, Time: began, Store: j.File}
	err = j.copy(ctx, d, partial)
	if err == nil {
		err = put(place, folder, partial, path)
	}
	if err != nil {
		return nil, errors.Join(err, discard(path, partial))
	}
	result := &Result{Path: path, Description: d}
	err = note(context.WithoutCancel(ctx), j.Store, began)
	if folder {
		var wrong error
		result.Removed, wrong = prune(path, base, j.File, j.Keep)
		err = errors.Join(err, wrong)
	}
	return result, err
}

// replaceable returns an error if there is something at a path that is no backup. A backup has
// a description, which is still beside the copy if the process was killed at the wrong moment.
func replaceable(path, partial string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && (exists(descriptionPath(path)) || exists(descriptionPath(partial))) {
		return nil
	}
	return fmt.Errorf("%s is not a backup with a description (.json), and is not replaced: choose another name", path)
}

// discard removes what is left of a backup that was not completed.
func discard(path, partial string) error {
	if exists(path) && !exists(descriptionPath(path)) {
		return removeAll(partial)
	}
	return removeAll(partial, descriptionPath(partial))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// copy makes a complete, verified and durable copy with its description.
func (j *Job) copy(ctx context.Context, d *Description, partial string) error {
	if err := removeAll(partial); err != nil { // of a run that was killed
		return err
	}
	file, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // #nosec G304 -- the operator chooses the folder
	if err != nil {
		return err
	}
	defer file.Close()
	made, err := file.Stat()
	if err != nil {
		return err
	}
	if err := j.Store.Backup(ctx, partial, func(done, total int64) { j.Say("copying", done, total) }); err != nil {
		return err
	}
	j.Say("verifying", 0, 0)
	if err := j.examine(ctx, d, partial); err != nil {
		return err
	}
	j.Say("computing the digest", 0, 0)
	if d.Size, d.SHA256, err = digest(ctx, partial, nil); err != nil {
		return err
	}
	if now, err := os.Lstat(partial); err != nil || !os.SameFile(now, made) || now.Size() != d.Size {
		return fmt.Errorf("another process has changed %s", partial)
	}
	return d.write(descriptionPath(partial))
}

// examine verifies a copy, and describes it.
func (j *Job) examine(ctx context.Context, d *Description, partial string) error {
	s, err := sqlite.OpenCopy(partial)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := verify(ctx, s); err != nil {
		return err
	}
	return d.fill(ctx, s, j.Sealer)
}

// put gives a backup its name. Whenever the process ends, no description is that of another
// backup; in a folder, no backup is without one.
func put(place *sqlite.Place, folder bool, partial, path string) error {
	described := descriptionPath(path)
	var steps []func() error
	if folder {
		if exists(path) {
			return fmt.Errorf("another process has written %s", path)
		}
		steps = []func() error{
			func() error { return os.Rename(descriptionPath(partial), described) },
			func() error { return os.Rename(partial, path) },
		}
	} else {
		steps = []func() error{
			func() error { return removeAll(described) },
			func() error { return syncFolder(path) },
			func() error { return place.Put(partial) },
			func() error { return os.Rename(descriptionPath(partial), described) },
		}
	}
	for _, step := range append(steps, func() error { return syncFolder(path) }) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// prune removes all backups of a store from the folder of the one that was just made, but this
// one and those with the newest times in their names, unless keep is 0, and descriptions whose
// backups are gone.
func prune(made, base, store string, keep int) (removed []string, err error) {
	folder := filepath.Dir(made)
	name := regexp.MustCompile("^" + regexp.QuoteMeta(base) + `-\d{8}T\d{6}\.\d{3}Z\.db$`)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	slices.Reverse(entries) // the newest first
	found := 1              // made, which is not the newest by name if a clock was wrong
	for _, entry := range entries {
		described, isDescription := strings.CutSuffix(entry.Name(), ".json")
		if !isDescription || !name.MatchString(described) {
			continue
		}
		path := filepath.Join(folder, described)
		if path == made {
			continue
		}
		if d, err := Describe(path); err != nil || d == nil || d.Store != store {
			continue // that of another store
		}
		gone := !exists(path)
		if !gone {
			found++
		}
		if gone || keep > 0 && found > keep {
			if err := removeAll(path, descriptionPath(path)); err != nil {
				return removed, err
			}
			if !gone {
				removed = append(removed, path)
			}
		}
	}
	return removed, nil
}

// removeAll removes files that may not exist.
func removeAll(paths ...string) error {
	var errs []error
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
