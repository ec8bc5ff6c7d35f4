package folder

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"marquee/engine/store"
)

// The set of schemas that was served last is kept in the store, so that a file that a
// running service would refuse does not stop it at its next start.
const (
	setCollection = "schema_sets"
	acceptedSet   = "accepted"
	// A set is kept as one record, which a database limits to 16 MiB.
	maxSetBytes  = 64 << 20
	maxSetPacked = 8 << 20
)

// Collection is where sets are kept.
var Collection = store.Collection{Name: setCollection}

// Recorder is a folder that remembers the schemas that are read from it.
type Recorder struct {
	Folder
	texts map[string]*bytes.Buffer
	size  int
}

// Record returns a recorder of a folder.
func Record(f Folder) *Recorder { return &Recorder{Folder: f, texts: map[string]*bytes.Buffer{}} }

// Open implements fs.FS.
func (r *Recorder) Open(name string) (fs.File, error) {
	f, err := r.Folder.Open(name)
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
	r    *Recorder
}

func (f *recorded) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if f.r.size += n; f.r.size <= maxSetBytes {
		f.text.Write(p[:n])
	}
	return n, err
}

// packed returns the set as it is stored.
func (r *Recorder) packed() ([]byte, error) {
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

// Keep stores the set that is served, in place of the previous one.
func Keep(ctx context.Context, s store.Store, set *Recorder) error {
	content, err := set.packed()
	if err != nil {
		return err
	}
	return s.Write(ctx, func(tx store.Tx) error {
		before := store.Record{Key: store.Key{ID: acceptedSet}}
		err := tx.Get(ctx, setCollection, []store.Key{{ID: acceptedSet}}, func(r *store.Record) error {
			before = *r
			before.Document = bytes.Clone(r.Document)
			return nil
		})
		if err != nil || bytes.Equal(before.Document, content) {
			return err
		}
		return tx.Put(ctx, setCollection, []store.Write{store.InternalWrite(before, "ACTIVE", content, time.Now())})
	})
}

// Accepted returns the stored set and the time when it was accepted; the set is nil if
// there is none.
func Accepted(ctx context.Context, s store.Store) (set fs.FS, accepted time.Time, err error) {
	packed, accepted, err := Packed(ctx, s)
	if err != nil || packed == nil {
		return nil, accepted, err
	}
	set, err = Unpack(packed)
	return set, accepted, err
}

// Packed returns the stored set in one piece, for Unpack, and the time when it was
// accepted; the set is nil if there is none.
func Packed(ctx context.Context, s store.Store) (set []byte, accepted time.Time, err error) {
	var content struct{ Zip []byte }
	err = s.Read(ctx, func(r store.Snapshot) error {
		return r.Get(ctx, setCollection, []store.Key{{ID: acceptedSet}}, func(r *store.Record) error {
			accepted = r.UpdateTime
			return json.Unmarshal(r.Document, &content)
		})
	})
	return content.Zip, accepted, err
}

// Unpack returns a packed set.
func Unpack(set []byte) (fs.FS, error) { return zip.NewReader(bytes.NewReader(set), int64(len(set))) }
