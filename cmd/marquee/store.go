package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"marquee/auth"
	"marquee/engine/store"
	"marquee/engine/store/mongo"
	"marquee/engine/store/sqlite"
)

// openStore opens the store that a URI names.
func openStore(ctx context.Context, uri string) (store.Store, error) {
	if path := sqlitePath(uri); path != "" {
		return sqlite.Open(ctx, sqlite.Options{Path: path})
	}
	if strings.HasPrefix(uri, "mongodb://") || strings.HasPrefix(uri, "mongodb+srv://") {
		return mongo.Open(ctx, mongo.Options{URI: uri})
	}
	return nil, fmt.Errorf("the store %q is of no known kind: write sqlite:PATH, mongodb://HOST,…/DATABASE or mongodb+srv://HOST/DATABASE", redactStore(uri))
}

// sqlitePath is the file that a URI names, "" when it is of another kind.
func sqlitePath(uri string) string {
	if path, ok := strings.CutPrefix(uri, "sqlite:"); ok {
		return path
	}
	return ""
}

// redactStore keeps a password out of messages: of a URI, the scheme is shown,
// and of anything else, nothing.
func redactStore(uri string) string {
	if kind, _, ok := strings.Cut(uri, "://"); ok {
		return kind + "://…"
	}
	return "…"
}

// key finds the key that secrets are encrypted with. A key file is made for a
// store that has no secrets yet, and for no other: a new key would open none.
func (f *storeFlags) key(ctx context.Context, s store.Store) ([]byte, error) {
	if f.SecretKey != "" {
		return auth.ParseKey(f.SecretKey)
	}
	path := f.keyFile()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		sealed, err := auth.Sealed(ctx, s)
		if err != nil {
			return nil, err
		}
		if sealed {
			return nil, fmt.Errorf("the store was made with a key, and the file %s is not there: put it back, or give the key that all servers of this store share (--secret-key or --secret-key-file)", path)
		}
		if f.SecretKeyFile == "" {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return nil, fmt.Errorf("a key file cannot be made: %w: give a key (--secret-key or --secret-key-file)", err)
			}
		}
	}
	return auth.KeyFile(path)
}

// keyFile is where the key is when none is given. A database has no folder of
// its own, so that its key is where that of the default store is.
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
