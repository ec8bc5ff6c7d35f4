// Package backup copies an SQLite store to files, verifies and describes them, and puts them
// back into the place of a store. It imports package marquee, auth, the catalog and the SQLite
// adapter, and knows no command. Begin with Job and Restoration.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"marquee"
	"marquee/auth/seal"
	"marquee/auth/signing"
	"marquee/engine/catalog"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// Description says what a backup holds. It is in a JSON file beside the backup.
type Description struct {
	// Version is that of the program that made the backup, and Format that of the file.
	Version string `json:"version"`
	Format  int64  `json:"storeFormat"`
	// Application is the one that the store was made for; "" is not known.
	Application string `json:"application"`
	// Time is when the backup began: everything that was confirmed before is in it.
	Time time.Time `json:"time"`
	// Store is the file that was backed up.
	Store string `json:"store"`
	// Objects are the numbers of objects by type.
	Objects map[string]int64 `json:"objects"`
	// SecretKey is the key that the store was served with.
	SecretKey Key `json:"secretKey"`
	// Size is the number of bytes of the backup, and SHA256 their digest in hexadecimal form.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Key identifies the key that encrypts secrets, without revealing it. Fits reports whether it
// decrypts what the backup has.
type Key struct {
	ID   string `json:"id,omitempty"`
	Fits bool   `json:"fits"`
}

// descriptionPath returns the path of the description of a backup.
func descriptionPath(path string) string { return path + ".json" }

// maxDescription is the maximum size of a description, with 500 types and more.
const maxDescription = 1 << 20

// Describe reads the description of a backup; it is nil if there is none.
func Describe(path string) (*Description, error) {
	info, err := os.Stat(descriptionPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening it could take for ever
		return nil, fmt.Errorf("the description %s is not a file", descriptionPath(path))
	}
	file, err := os.Open(descriptionPath(path)) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDescription))
	if err != nil {
		return nil, err
	}
	d := &Description{}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(d); err != nil || d.SHA256 == "" {
		return nil, fmt.Errorf("the description %s cannot be read: restore it, or remove it to do without", descriptionPath(path))
	}
	return d, nil
}

// write writes a description to a file, and makes it durable.
func (d *Description) write(path string) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- the operator chooses the folder
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// fill describes what a store holds. The sealer is nil if no key is known.
func (d *Description) fill(ctx context.Context, s *sqlite.Store, sealer *seal.Sealer) (err error) {
	records, err := s.Records(ctx)
	if err != nil {
		return err
	}
	if d.Application, err = marquee.StoredApplication(ctx, s); err != nil {
		return err
	}
	d.Format, d.Objects = s.Format(), map[string]int64{}
	return s.Read(ctx, func(r store.Snapshot) error {
		types, err := catalog.ReadAll(ctx, r)
		for name := range types {
			d.Objects[name] = records[name]
		}
		d.SecretKey = Key{}
		if sealer != nil {
			d.SecretKey = Key{ID: sealer.KeyID(), Fits: signing.Check(ctx, r, sealer) == nil}
		}
		return err
	})
}

// verify reads a whole file.
func verify(ctx context.Context, s *sqlite.Store) error {
	err := s.Verify(store.LongRunning(ctx), func(fault string) error { return errors.New(fault) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the file is damaged: %w", err)
	}
	return nil
}

// digest reads a file and returns its size and digest. What it reads is also written to a
// writer, unless that is nil.
func digest(ctx context.Context, path string, to io.Writer) (size int64, sum string, err error) {
	file, err := os.Open(path) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	hash := sha256.New()
	var into io.Writer = hash
	if to != nil {
		into = io.MultiWriter(hash, to)
	}
	for {
		n, err := io.CopyN(into, file, 1<<20)
		size += n
		if err == io.EOF {
			return size, hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return size, "", err
		}
	}
}

// syncFolder makes changes of the names in the folder of a file durable.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
