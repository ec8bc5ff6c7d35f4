package auth

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"marquee/auth/seal"
	"marquee/auth/signing"
	"marquee/engine/store"
)

// ErrKeyMissing is returned if the key file of a store that has secrets does not exist.
var ErrKeyMissing = errors.New("the store was created with a key, but the key file does not exist: restore it")

// StoreKey reads the key file of a store, and the retired keys after it (seal.ReadKeyFiles). It
// makes the file for a store that has no secrets yet, and for no other: a new key would
// open none.
func StoreKey(ctx context.Context, s store.Store, path string) ([][]byte, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		stored, err := signing.Stored(ctx, s)
		if err != nil {
			return nil, err
		}
		if stored {
			return nil, ErrKeyMissing
		}
		if err := seal.CreateKeyFile(path); err != nil {
			return nil, err
		}
	}
	return seal.ReadKeyFiles(path)
}
