package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"marquee"
	"marquee/auth"
	"marquee/auth/seal"
	"marquee/auth/signing"
	"marquee/engine/disk"
	"marquee/engine/read"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// Restoration puts a backup into the place of a store.
type Restoration struct {
	// Backup is the file, and File the path of the store.
	Backup, File string
	// Force replaces a store that exists.
	Force bool
	// KeepSessions leaves sessions and API tokens valid.
	KeepSessions bool
	Application  *marquee.Application
	// Keys returns the keys of the store.
	Keys func(ctx context.Context, s store.Store) ([][]byte, error)
	// Say is called with each step, and Holds with what the backup holds, before the store is
	// replaced.
	Say   func(step string)
	Holds func(d *Description) error
}

// restoring is the end of the name of a file that is being prepared.
const restoring = ".restoring"

// Run restores the backup. After an error without sqlite.ErrDecided, nothing has changed.
func (r *Restoration) Run(ctx context.Context) (err error) {
	described, err := Describe(r.Backup)
	if err != nil {
		return err
	}
	size, err := r.size(described)
	if err != nil {
		return err
	}
	place, err := sqlite.Reserve(r.File)
	if errors.Is(err, sqlite.ErrInUse) {
		return fmt.Errorf("a server or another command has %s open: stop it first", r.File)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Close()) }()
	if place.Taken() && !r.Force {
		return fmt.Errorf("there is a store at %s already: --force replaces it, and what it holds is then lost", r.File)
	}
	if d, ok := disk.Of(filepath.Dir(r.File)); ok && d.Free < size {
		return fmt.Errorf("the backup takes %d bytes, and %d are free in the folder of %s", size, d.Free, r.File)
	}
	prepared := r.File + restoring
	clean := func() error {
		return removeAll(prepared, prepared+"-wal", prepared+"-shm", prepared+".lock", prepared+".damaged")
	}
	if err := clean(); err != nil { // of a run that was killed
		return err
	}
	if err := r.prepare(ctx, described, prepared); err != nil {
		return errors.Join(err, clean())
	}
	err = place.Put(prepared)
	if wrong := clean(); err != nil {
		return errors.Join(err, wrong)
	}
	return nil // the next restoration removes what could not be removed
}

// size returns the size of a backup whose beginning is that of one.
func (r *Restoration) size(d *Description) (int64, error) {
	info, err := os.Stat(r.Backup)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file: name a backup", r.Backup)
	}
	if store, err := os.Stat(r.File); err == nil && !store.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is not a file: check --store", r.File)
	} else if err == nil && os.SameFile(info, store) {
		return 0, fmt.Errorf("%s is the store itself", r.Backup)
	}
	if left, err := os.Stat(r.File + restoring); err == nil && os.SameFile(info, left) {
		return 0, fmt.Errorf("%s is what a restore has left that was interrupted: name the backup", r.Backup)
	}
	if _, err := os.Lstat(r.Backup + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s has a log beside it (-wal), so it is a store that is in use, or was: make a backup of it", r.Backup)
	}
	if d != nil && info.Size() != d.Size {
		return 0, fmt.Errorf("%s has %d bytes, and its description says %d: it is incomplete, or another file", r.Backup, info.Size(), d.Size)
	}
	s, err := sqlite.OpenCopy(r.Backup)
	if err != nil {
		return 0, err
	}
	return info.Size(), s.Close()
}

// prepare makes a copy of the backup that can be served.
func (r *Restoration) prepare(ctx context.Context, described *Description, prepared string) error {
	r.Say("copying the backup")
	file, err := os.OpenFile(prepared, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- beside the store
	if err != nil {
		return err
	}
	size, sum, err := digest(ctx, r.Backup, file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if described != nil && sum != described.SHA256 {
		return fmt.Errorf("%s is not the file that its description describes: it was changed, or is damaged", r.Backup)
	}
	r.Say("verifying the copy")
	s, err := sqlite.OpenCopy(prepared)
	if err != nil {
		return err
	}
	if err := errors.Join(verify(ctx, s), s.Close()); err != nil {
		return err
	}
	holds := &Description{Size: size, SHA256: sum}
	if described != nil {
		holds = described
	}
	if err := r.adapt(ctx, prepared, holds); err != nil {
		return err
	}
	if _, err := os.Lstat(prepared + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the log of the copy cannot be emptied: %w", err)
	}
	if err := sync(prepared); err != nil {
		return err
	}
	return r.Holds(holds)
}

// adapt opens the copy as a store, which upgrades its format, and ends cursors, sessions and tokens.
func (r *Restoration) adapt(ctx context.Context, prepared string, holds *Description) (err error) {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: prepared, MustExist: true, NoUpgradeCopy: true, Readers: 2})
	if err != nil {
		return err
	}
	defer func() {
		if s.Close() != nil && err == nil {
			err = errors.New("the copy cannot be completed: check the disk of the store")
		}
	}()
	if err := marquee.CheckApplication(ctx, s, r.Application); err != nil {
		return err
	}
	if err := s.EnsureCollections(ctx, auth.Collections()); err != nil {
		return err
	}
	keys, err := r.Keys(ctx, s)
	if err != nil {
		return fmt.Errorf("the secret key cannot be used: %w", err)
	}
	sealer, err := seal.New(keys...)
	if err != nil {
		return err
	}
	if err := s.Read(ctx, func(sn store.Snapshot) error { return signing.Check(ctx, sn, sealer) }); err != nil {
		return fmt.Errorf("the secret key is not that of the backup: %w", err)
	}
	if err := holds.fill(ctx, s, sealer); err != nil {
		return err
	}
	if err := read.EndCursors(ctx, s); err != nil || r.KeepSessions {
		return err
	}
	r.Say("ending sessions and API tokens")
	return auth.EndAccess(ctx, s, sealer)
}

// sync makes the content of a file durable.
func sync(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0) // #nosec G304 -- beside the store
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
