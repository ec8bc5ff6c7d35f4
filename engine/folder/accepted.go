package folder

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"marquee/engine/store"
)

// The sets of schemas that were served are kept in the store, so that a file that a running
// service would refuse does not stop it at its next start.
const (
	setCollection = "schema_sets"
	// acceptedSet is where earlier versions kept the last set.
	acceptedSet = "accepted"
	// A set is kept as one record, which a database limits to 16 MiB.
	maxSetBytes  = 64 << 20
	maxSetPacked = 8 << 20
)

// Collection is where sets are kept.
var Collection = store.Collection{Name: setCollection}

// packedFiles is the record of the files of a set.
type packedFiles struct {
	Zip []byte `json:"zip"`
}

// Recorder is a folder that remembers the schemas that are read from it.
type Recorder struct {
	Folder
	texts map[string]*bytes.Buffer
	size  int
	// whole is the set of Recorded.
	whole []byte
}

// Record returns a recorder of a folder.
func Record(f Folder) *Recorder { return &Recorder{Folder: f, texts: map[string]*bytes.Buffer{}} }

// Recorded returns a recorder that remembers a packed set, and reads no folder.
func Recorded(set []byte) *Recorder { return &Recorder{whole: set} }

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

// Changed returns the name of a file that has changed or is gone since it was read, "" for
// none.
func (r *Recorder) Changed() string {
	for _, name := range slices.Sorted(maps.Keys(r.texts)) {
		if text, err := fs.ReadFile(r.Folder, name); err != nil || r.size <= maxSetBytes && !bytes.Equal(text, r.texts[name].Bytes()) {
			return name
		}
	}
	return ""
}

// Packed returns the set in one piece, for Unpack.
func (r *Recorder) Packed() ([]byte, error) {
	if r.whole != nil {
		return r.whole, nil
	}
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
	return content.Bytes(), nil
}

// Unpack returns a packed set.
func Unpack(set []byte) (fs.FS, error) { return zip.NewReader(bytes.NewReader(set), int64(len(set))) }
