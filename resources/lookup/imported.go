package lookup

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
	"marquee/resources/location"
)

// collection keeps which file of locations was imported last; its bytes are a
// blob whose id begins with BlobPrefix.
const (
	collection = "imported_locations"
	BlobPrefix = "locations-"
)

// Collection is what the store must have.
func Collection() store.Collection { return store.Collection{Name: collection} }

var head = store.Key{ID: "head"}

// Import keeps a file of locations (docs/import-export.md has the form of a
// line) beside those of the program, in place of what was imported before. An
// error is a *location.FaultError when the file is not as it must be.
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
	locations, err := location.Read(io.TeeReader(file, writer))
	if err = errors.Join(err, writer.Close()); err != nil {
		return 0, err
	}
	size, err := packed.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	blob := BlobPrefix + hex.EncodeToString(hash.Sum(nil))
	return len(locations), s.Write(ctx, func(tx store.Tx) error {
		write := store.Write{Record: store.Record{Key: head, Version: 1, State: "ACTIVE", CreateTime: now, UpdateTime: now,
			Document: document.Append(nil, map[string]any{"blob": blob, "locations": int64(len(locations))})}}
		old := ""
		err := tx.Get(ctx, collection, []store.Key{head}, func(r *store.Record) error {
			write.Expected, write.Version, write.CreateTime = r.Version, r.Version+1, r.CreateTime
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
		return tx.Put(ctx, collection, []store.Write{write})
	})
}

func blobOf(r *store.Record) (string, error) {
	object, err := document.DecodeObject(r.Document, document.Limits{})
	blob, _ := object["blob"].(string)
	return blob, err
}

// Refresh takes in what was imported since it was last called.
func (l *Locations) Refresh(ctx context.Context, s store.Store) error {
	l.refreshing.Lock()
	defer l.refreshing.Unlock()
	var own []location.Location
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
	l.gazetteer.Store(location.New(append(slices.Collect(location.Load().All()), own...)))
	l.imported = blob
	return nil
}

// Follow takes in at each interval what another process has imported.
func (l *Locations) Follow(ctx context.Context, s store.Store, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.Refresh(ctx, s); err != nil && ctx.Err() == nil {
			log.Warn("imported locations cannot be read at present; it will be tried again", slog.Any("error", err))
		}
	}
}

// unpack reads locations out of a blob.
func unpack(ctx context.Context, r store.Snapshot, key store.Key) ([]location.Location, error) {
	source, sink := io.Pipe()
	read := make(chan error, 1)
	var locations []location.Location
	go func() {
		plain, err := zstd.NewReader(source)
		if err == nil {
			locations, err = location.Read(plain)
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
