package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"marquee/auth"
	"marquee/auth/seal"
	"marquee/command/exit"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/engine/store/sqlite"
)

// openStore opens the store, and creates it unless it must exist.
func (f *storeFlags) openStore(ctx context.Context, mustExist bool) (store.Portable, error) {
	uri := f.Store
	if path := sqlitePath(uri); path != "" {
		f.opening.answer()
		options := sqlite.Options{Path: path, MustExist: mustExist, Loading: f.copies == "to", Log: f.log, NoUpgradeCopy: f.NoUpgradeBackup}
		if f.log == nil {
			options.Copied = func(kept, back string) {
				fmt.Fprintf(os.Stderr, "%s: the store was copied to %s before its upgrade; to go back, run this and use the earlier version: %s\n", programName, kept, back)
			}
		}
		return sqlite.Open(ctx, options)
	}
	if strings.HasPrefix(uri, "mongodb://") || strings.HasPrefix(uri, "mongodb+srv://") {
		f.opening.Step(waitingForDatabase)
		s, err := mongo.Open(ctx, mongo.Options{URI: uri, MustExist: mustExist, Loading: f.copies == "to", ReadOnly: f.copies == "from",
			Answered: f.opening.answer, Log: f.log})
		var wrong mongo.URIError
		if errors.As(err, &wrong) {
			return nil, exit.Usagef("%s: the MongoDB store cannot be used: %w", f.flag("store"), wrong)
		}
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, exit.Usagef("%s: the store %q has an unknown scheme: write sqlite:PATH, mongodb://HOST,…/DATABASE or mongodb+srv://HOST/DATABASE", f.flag("store"), redactStore(uri))
}

// flag returns the flag with a name, which marquee copy has for each of its stores.
func (f *storeFlags) flag(name string) string {
	switch {
	case f.copies == "":
		return "--" + name
	case name == "store":
		return "--" + f.copies
	}
	return "--" + f.copies + "-" + name
}

// sqlitePath returns the file of a URI of SQLite, or "".
func sqlitePath(uri string) string {
	if path, ok := strings.CutPrefix(uri, "sqlite:"); ok {
		return path
	}
	return ""
}

// redactStore shows only the scheme of a URI, to keep passwords out of messages.
func redactStore(uri string) string {
	if kind, _, ok := strings.Cut(uri, "://"); ok {
		return kind + "://…"
	}
	return "…"
}

// keys returns the key that encrypts secrets, and after it those that only decrypt. A
// key file is created only for a store without secrets, because a new key could not
// decrypt them.
func (f *storeFlags) keys(ctx context.Context, s store.Store) ([][]byte, error) {
	if f.SecretKey != "" {
		return f.givenKeys()
	}
	path := f.keyFile()
	keys, err := auth.StoreKey(ctx, s, path)
	if errors.Is(err, fs.ErrNotExist) && f.SecretKeyFile == "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("a key file cannot be made: %w: give a key (--secret-key or --secret-key-file)", err)
		}
		keys, err = auth.StoreKey(ctx, s, path)
	}
	if errors.Is(err, auth.ErrKeyMissing) {
		return nil, fmt.Errorf("the store was created with a key, but the key file %s does not exist: restore it, or pass the key that all servers of this store share (--secret-key or --secret-key-file)", path)
	}
	return keys, err
}

// givenKeys returns the keys of the setting, or those of the file, which is not made.
func (f *storeFlags) givenKeys() ([][]byte, error) {
	if f.SecretKey == "" {
		return seal.ReadKeyFiles(f.keyFile())
	}
	keys, err := seal.ParseKeys(f.SecretKey)
	if err != nil {
		return nil, exit.Usagef("%s: %w", f.flag("secret-key"), err)
	}
	return keys, nil
}

// keyFile returns the file of the key. The default for a database, which has no
// folder, is the file of the default store.
func (f *storeFlags) keyFile() string {
	if f.SecretKeyFile != "" {
		return f.SecretKeyFile
	}
	const name = "marquee.key"
	if path := sqlitePath(f.Store); path != "" {
		return filepath.Join(filepath.Dir(path), name)
	}
	return filepath.Join("marquee-data", name)
}
