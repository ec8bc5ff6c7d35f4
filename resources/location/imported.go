package location

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"marquee/engine/document"
	"marquee/engine/store"
	"marquee/engine/walk"
)

const (
	// collection has one record, which names the blob with the file imported last.
	collection = "imported_locations"
	// BlobPrefix begins the ids of blobs with imported files.
	BlobPrefix = "locations-"
)

// Collection returns the collection that imported locations need.
func Collection() store.Collection { return store.Collection{Name: collection} }

var head = store.Key{ID: "head"}

// Import stores a file of locations, in the format of Read, to be searched besides
// the embedded ones. It replaces the file imported before, and returns the number of
// locations. The error is a *FaultError if the file is at fault.
func Import(ctx context.Context, s store.Store, file io.Reader, now time.Time) (n int, err error) {
	packed, err := os.CreateTemp("", "marquee-locations-*")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, packed.Close(), os.Remove(packed.Name())) }()
	hash := sha256.New()
	writer, err := zstd.NewWriter(io.MultiWriter(packed, hash))
	if err != nil {
		return 0, err
	}
	locations, err := Read(io.TeeReader(file, writer))
	if err = errors.Join(err, writer.Close()); err != nil {
		return 0, err
	}
	size, err := packed.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	blob := BlobPrefix + hex.EncodeToString(hash.Sum(nil))
	return len(locations), s.Write(ctx, func(tx store.Tx) error {
		was, old := store.Record{Key: head}, ""
		err := tx.Get(ctx, collection, []store.Key{head}, func(r *store.Record) error {
			was = *r
			old, _ = blobOf(r)
			return nil
		})
		if err != nil || old == blob {
			return err
		}
		if old != "" {
			if err := tx.DropBlobs(ctx, []store.Key{{ID: old}}); err != nil {
				return err
			}
		}
		err = tx.PutBlob(ctx, store.Key{ID: blob}, size, func() (io.ReadCloser, error) { return os.Open(packed.Name()) })
		if err != nil {
			return err
		}
		content := document.Append(nil, map[string]any{"blob": blob, "locations": int64(len(locations))})
		return tx.Put(ctx, collection, []store.Write{store.InternalWrite(was, "ACTIVE", content, now)})
	})
}

func blobOf(r *store.Record) (string, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{})
	blob, _ := object["blob"].(string)
	return blob, err
}

// Refresh loads locations that were imported since its last call.
func (l *Lookup) Refresh(ctx context.Context, s store.Store) error {
	l.refreshing.Lock()
	defer l.refreshing.Unlock()
	var own []Location
	blob := ""
	err := s.Read(ctx, func(r store.Snapshot) error {
		blob, own = "", nil
		err := r.Get(ctx, collection, []store.Key{head}, func(record *store.Record) (err error) {
			blob, err = blobOf(record)
			return err
		})
		if err != nil || blob == l.imported {
			return err
		}
		own, err = unpack(ctx, r, store.Key{ID: blob})
		return err
	})
	if err != nil || blob == l.imported {
		return err
	}
	l.gazetteer.Store(New(append(slices.Collect(Load().All()), own...)))
	l.imported = blob
	return nil
}

// Follow decodes the locations after a while, so that no request waits for that, and calls
// Refresh at each interval, since another process may import locations. Decoding takes a
// second of a processor, which a service that has just started needs for its first requests.
func (l *Lookup) Follow(ctx context.Context, s store.Store, after, every time.Duration, log *slog.Logger) {
	if !walk.Sleep(ctx, after) {
		return
	}
	l.get()
	walk.Every(ctx, every, func() {
		if err := l.Refresh(ctx, s); err != nil && ctx.Err() == nil {
			log.Warn("reading imported locations failed; retrying", slog.Any("error", err))
		}
	})
}

// unpack reads the locations in a blob.
func unpack(ctx context.Context, r store.Snapshot, key store.Key) ([]Location, error) {
	source, sink := io.Pipe()
	read := make(chan error, 1)
	var locations []Location
	go func() {
		plain, err := zstd.NewReader(source)
		if err == nil {
			locations, err = Read(plain)
			plain.Close()
		}
		source.CloseWithError(err)
		read <- err
	}()
	size, _, err := r.Blob(ctx, key, 0, 0, func([]byte) error { return nil })
	if err == nil {
		_, _, err = r.Blob(ctx, key, 0, size, func(piece []byte) error {
			_, err := sink.Write(piece)
			return err
		})
	}
	sink.CloseWithError(err)
	return locations, errors.Join(err, <-read)
}
