package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"

	"marquee/engine"
	"marquee/engine/store"
)

// Files handles the files of the objects of a type. They are stored as blobs of
// the object's network with the hexadecimal SHA-256 of their content as the id,
// which is the name of the file in a folder.
type Files interface {
	// Export returns the files of each record.
	Export(ctx context.Context, s store.Snapshot, records []*store.Record) ([]Attached, error)
	// Names returns the names of the files in the member "file" of a line, which
	// may be invalid.
	Names(member any) []string
	// Import adds the files in the member "file" of a line to an operation. Open
	// opens a file of the folder. An error that the line or a file causes is a
	// *message.Error.
	Import(op *engine.Operation, member any, open func(name string) (*os.File, error)) error
}

// Attached are the files of an object.
type Attached struct {
	// Member is the member "file" of the object's line.
	Member map[string]any
	// Blobs are the ids of the files.
	Blobs []string
}

// fileMember is the member of a line that describes the object's files. No type
// with files has a property of that name.
const fileMember = "file"

// filesOf returns the handler for the files of a line, nil if it has none.
func (r *Importer) filesOf(it item) Files {
	if _, there := it.object[fileMember]; !there {
		return nil
	}
	return r.Files[it.t.Name]
}

// fileBytes returns the total size of the files of a line.
func (r *Importer) fileBytes(it item) (bytes int64) {
	files := r.filesOf(it)
	if files == nil {
		return 0
	}
	for _, name := range files.Names(it.object[fileMember]) {
		if info, err := r.Folder.Stat(name); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// filePiece is the maximum number of bytes of a file that are read at once.
const filePiece = 1 << 20

// putFile writes a blob to the folder, unless it exists there. It never leaves an
// incomplete file under that name.
func putFile(ctx context.Context, s store.Snapshot, folder *os.Root, network, name string) (err error) {
	if _, err := folder.Stat(name); err == nil {
		return nil
	}
	part := name + ".part"
	file, err := folder.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("a file cannot be created in the folder for files: %w", err)
	}
	defer func() {
		if err != nil {
			_ = folder.Remove(part)
		}
	}()
	defer file.Close()
	digest := sha256.New()
	key, at := store.Key{Network: network, ID: name}, int64(0)
	for size := int64(math.MaxInt64); at < size; {
		var found bool
		before := at
		size, found, err = s.Blob(ctx, key, at, filePiece, func(b []byte) error {
			digest.Write(b)
			n, err := file.Write(b)
			at += int64(n)
			return err
		})
		if err != nil {
			return err
		}
		if !found || at == before && at < size {
			return fmt.Errorf("the file %s of the network %q is not in the store", name, network)
		}
	}
	if hex.EncodeToString(digest.Sum(nil)) != name {
		return fmt.Errorf("the file %s of the network %q is damaged in the store", name, network)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("the files cannot be written: %w", err)
	}
	return folder.Rename(part, name)
}
