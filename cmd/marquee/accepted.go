package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path"
	"slices"
	"time"

	"marquee"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// The set of schemas that was served last is kept in the store, so that a file
// that a running service would refuse does not stop it at its next start.
const (
	schemaSetCollection = "schema_sets"
	acceptedSet         = "accepted"
	// A set is kept as one record, which a database takes up to 16 MiB of.
	maxSetBytes  = 64 << 20
	maxSetPacked = 8 << 20
)

var schemaSets = store.Collection{Name: schemaSetCollection}

// recorder is a folder of schemas that keeps the texts of the files that are
// read from it.
type recorder struct {
	folder
	texts map[string]*bytes.Buffer
	size  int
}

// Open implements fs.FS.
func (r *recorder) Open(name string) (fs.File, error) {
	f, err := r.folder.Open(name)
	if err != nil || path.Ext(name) != ".json" {
		return f, err
	}
	text := &bytes.Buffer{}
	r.texts[name] = text
	return &recorded{f, text, r}, nil
}

// recorded is a file whose bytes are kept as they are read.
type recorded struct {
	fs.File
	text *bytes.Buffer
	r    *recorder
}

func (f *recorded) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if f.r.size += n; f.r.size <= maxSetBytes {
		f.text.Write(p[:n])
	}
	return n, err
}

// packed is the set as it is stored.
func (r *recorder) packed() ([]byte, error) {
	if r.size > maxSetBytes {
		return nil, fmt.Errorf("the files have more than %d MiB", maxSetBytes>>20)
	}
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	for _, name := range slices.Sorted(maps.Keys(r.texts)) {
		w, err := archive.Create(name) // without a time: the same set is the same bytes
		if err == nil {
			_, err = w.Write(r.texts[name].Bytes())
		}
		if err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if content.Len() > maxSetPacked {
		return nil, fmt.Errorf("the files have more than %d MiB when they are packed", maxSetPacked>>20)
	}
	return json.Marshal(map[string]string{"zip": base64.StdEncoding.EncodeToString(content.Bytes())})
}

// keepSet stores the set that is served now, in place of the one before.
func keepSet(ctx context.Context, s store.Store, set *recorder) error {
	content, err := set.packed()
	if err != nil {
		return err
	}
	return s.Write(ctx, func(tx store.Tx) error {
		before := store.Record{Key: store.Key{ID: acceptedSet}}
		err := tx.Get(ctx, schemaSetCollection, []store.Key{{ID: acceptedSet}}, func(r *store.Record) error {
			before = *r
			before.Document = bytes.Clone(r.Document)
			return nil
		})
		if err != nil || bytes.Equal(before.Document, content) {
			return err
		}
		return tx.Put(ctx, schemaSetCollection, []store.Write{store.InternalWrite(before, "ACTIVE", content, time.Now())})
	})
}

// readSet gives the set that is kept, nil when there is none, and when it was
// accepted.
func readSet(ctx context.Context, s store.Store) (set fs.FS, accepted time.Time, err error) {
	var content struct{ Zip []byte }
	err = s.Read(ctx, func(r store.Snapshot) error {
		return r.Get(ctx, schemaSetCollection, []store.Key{{ID: acceptedSet}}, func(r *store.Record) error {
			accepted = r.UpdateTime
			return json.Unmarshal(r.Document, &content)
		})
	})
	if err != nil || content.Zip == nil {
		return nil, accepted, err
	}
	archive, err := zip.NewReader(bytes.NewReader(content.Zip), int64(len(content.Zip)))
	return archive, accepted, err
}

// isRefusal reports whether an error is what is wrong with a set of schemas.
func isRefusal(err error) bool {
	var problems schema.Problems
	return errors.As(err, &problems)
}

// startWithKept serves the set that was accepted last in place of one that is
// refused. The error is the refusal where no such set can be served.
func (s *service) startWithKept(ctx context.Context, f *storeFlags, options marquee.Options, refusal error) error {
	set, accepted, err := readSet(ctx, options.Store)
	if err != nil || set == nil {
		return errors.Join(refusal, err)
	}
	options.Types, err = s.Load(schema.Source{Name: "the set that was accepted last", FS: set})
	if err == nil {
		s.Server, err = marquee.Open(ctx, options)
	}
	if isRefusal(err) {
		return refusal // which is what can be corrected
	}
	if err != nil {
		return err
	}
	when := accepted.Format(time.RFC3339)
	s.note = "refused at the start; the set that was accepted last, at " + when + ", is served: " + withoutPaths(refusal.Error(), f.Schemas)
	f.logger().Warn("the schemas were refused; the set that was accepted last is served", slog.String("accepted", when), slog.String("reason", refusal.Error()))
	return nil
}

// keep keeps the set of schemas that is served now. That it cannot be is no
// reason not to serve it.
func (s *service) keep(ctx context.Context, f *storeFlags, set *recorder) {
	if set == nil {
		return
	}
	if err := keepSet(ctx, s.Store(), set); err != nil {
		f.logger().Warn("the set of schemas is served, but cannot be kept for a start with a wrong one", slog.String("cause", err.Error()))
	}
}
