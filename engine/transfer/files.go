package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/store"
)

// Files are what the objects of a type have besides their documents, kept as
// blobs of their network whose ids are the SHA-256 of their content in
// hexadecimal digits. In a folder, these are the names of the files.
type Files interface {
	// Export tells for each of the records what the line of its object says of
	// its files, and which they are.
	Export(ctx context.Context, s store.Snapshot, records []*store.Record) ([]Attached, error)
	// Names are the files that a line names; what it says may be anything.
	Names(said any) []string
	// Import makes an operation one that brings the files with it. Errors are
	// *message.Error where the line or a file is to blame. Open opens a file
	// of the folder.
	Import(op *engine.Operation, said any, open func(name string) (*os.File, error)) error
}

// Attached are the files of an object.
type Attached struct {
	// Says is the member "file" of the object's line.
	Says map[string]any
	// Blobs are the ids.
	Blobs []string
}

// fileMember is the member of an object's line that tells of its files. No type
// with files has a property of that name.
const fileMember = "file"

// filesOf are those of a line's type when the line tells of files.
func (r *Importer) filesOf(it item) Files {
	if _, there := it.object[fileMember]; !there {
		return nil
	}
	return r.Files[it.t.Name]
}

// fileBytes is how much the files of a line hold.
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

// attach gives an operation its files. Index is its place in the batch.
func (r *Importer) attach(op *engine.Operation, index int) error {
	said, there := op.Object[fileMember]
	files := r.Files[op.Type.Name]
	if !there || files == nil {
		return nil
	}
	delete(op.Object, fileMember)
	err := files.Import(op, said, func(name string) (*os.File, error) {
		file, err := r.Folder.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = message.FileNotInFolder.Error(message.Params{"file": name})
		}
		return file, err
	})
	var known *message.Error
	if errors.As(err, &known) {
		for i, m := range known.Messages {
			known.Messages[i] = m.Adding(message.Params{"index": index, "field": "/" + fileMember})
		}
	}
	return err
}

// filePiece is how much of a file is read at once.
const filePiece = 1 << 20

// putFile writes a blob into the folder, whole or not at all. One that is
// there stays.
func putFile(ctx context.Context, s store.Snapshot, folder *os.Root, network, name string) (err error) {
	if _, err := folder.Stat(name); err == nil {
		return nil
	}
	part := name + ".part"
	file, err := folder.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("a file cannot be made in the folder of the files: %w", err)
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
