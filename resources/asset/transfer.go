package asset

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"

	"marquee/engine"
	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/spool"
	"marquee/engine/store"
	"marquee/engine/transfer"
	"marquee/resources/catalogue"
)

// exported is the description of an asset's files in an exported line.
type exported struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	// Delivery is the name of the delivery.
	Delivery string `json:"delivery"`
	// Files has the SHA-256 of the delivered files by path.
	Files map[string]string `json:"files"`
}

// Files returns the export and import of the files of assets.
func Files() map[string]transfer.Files {
	return map[string]transfer.Files{collection: files{spool.New("", 0)}}
}

type files struct{ spool *spool.Spool }

// Export implements transfer.Files.
func (files) Export(ctx context.Context, s store.Snapshot, records []*store.Record) ([]transfer.Attached, error) {
	assets, names := make([]map[string]any, len(records)), make([]string, len(records))
	for i, r := range records {
		asset, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
		if err != nil {
			return nil, err
		}
		place, _ := asset["cdnId"].(string)
		assets[i], names[i] = asset, deliveryName(place)
	}
	found := map[string]*delivery{}
	if err := readDeliveries(ctx, s, names, func(name string, d *delivery, _ *store.Record) { found[name] = d }); err != nil {
		return nil, err
	}
	all := make([]transfer.Attached, len(records))
	for i, asset := range assets {
		d := found[names[i]]
		if d == nil {
			return nil, fmt.Errorf("%s %q of the network %q: %w", collection, records[i].ID, records[i].Network, errBlobMissing)
		}
		paths, blobs := map[string]any{}, map[string]bool{}
		for _, f := range d.Files {
			paths[f.Path], blobs[f.SHA256] = f.SHA256, true
		}
		all[i] = transfer.Attached{Blobs: slices.Sorted(maps.Keys(blobs)), Member: map[string]any{"name": asset["fileName"],
			"sha256": asset["sha256"], "size": asset["fileSizeBytes"], "delivery": names[i], "files": paths}}
	}
	return all, nil
}

// read decodes the description in a line.
func read(value any) (s exported, ok bool) {
	text, err := json.Marshal(value)
	if err != nil || json.Unmarshal(text, &s) != nil || len(s.Files) == 0 || !isSum(s.SHA256) || s.Size < 0 || !deliveryNamePattern.MatchString(s.Delivery) {
		return s, false
	}
	for _, sum := range s.Files {
		if !isSum(sum) {
			return s, false
		}
	}
	return s, true
}

// deliveryNamePattern is the form of the names that uploads get.
var deliveryNamePattern = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32 && hex.EncodeToString(raw) == text
}

// Names implements transfer.Files.
func (files) Names(value any) []string {
	s, _ := read(value)
	return slices.Collect(maps.Values(s.Files))
}

// Import implements transfer.Files. It inspects files like those of an upload, and
// sets the properties of the asset from the result.
func (f files) Import(op *engine.Operation, value any, open func(string) (*os.File, error)) error {
	s, ok := read(value)
	if !ok {
		return catalogue.AssetFileMembers.Error(message.Params{"field": "/file"})
	}
	found, err := s.inspect(f.spool, open)
	if err != nil {
		return err
	}
	op.Set, op.Kept = found.properties(), &upload{fresh: rand.Text(), wanted: s.Delivery, facts: found}
	return nil
}

// Attach gives the operation of an asset a file, which is not a bundle.
func Attach(op *engine.Operation, name string, content []byte) error {
	file := receive(spool.New("", 0).Create(context.Background(), ""))
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	found, err := inspect(context.Background(), file, name, maxImportedBundle)
	if err != nil {
		return err
	}
	for i := range found.files {
		found.files[i].open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	}
	op.Set, op.Kept = found.properties(), &upload{fresh: rand.Text(), facts: found}
	return nil
}

// maxImportedBundle is the maximum unpacked size of an imported bundle. It does not
// depend on the limit of uploads, so that exported assets can be imported.
const maxImportedBundle = 100 << 20

// inspect inspects the files, and checks that they are the exported ones.
func (s exported) inspect(temporary *spool.Spool, open func(string) (*os.File, error)) (facts, error) {
	file := receive(temporary.Create(context.Background(), ""))
	defer file.Close()
	var err error
	sum, alone := s.Files[s.Name]
	if alone = alone && sum == s.SHA256; alone {
		err = copyInto(file, open, sum)
	} else {
		err = s.pack(file, open)
	}
	if err != nil {
		return facts{}, err
	}
	found, err := inspect(context.Background(), file, s.Name, maxImportedBundle)
	if err != nil {
		return facts{}, err
	}
	if alone != (found.kind != zipKind) || len(found.files) != len(s.Files) {
		return facts{}, catalogue.AssetFileMembers.Error(message.Params{"field": "/file"})
	}
	if !alone {
		found.sum, found.size = s.SHA256, s.Size
	}
	for i, f := range found.files {
		if expected := s.Files[f.path]; f.sum != expected {
			return facts{}, catalogue.AssetFileOther.Error(message.Params{"file": expected})
		}
		found.files[i].open = func() (io.ReadCloser, error) { return open(f.sum) }
	}
	return found, nil
}

// pack creates a bundle of its unpacked files.
func (s exported) pack(file *received, open func(string) (*os.File, error)) error {
	z := zip.NewWriter(file)
	for _, path := range slices.Sorted(maps.Keys(s.Files)) {
		entry, err := z.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Store})
		if err == nil {
			err = copyInto(entry, open, s.Files[path])
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

func copyInto(w io.Writer, open func(string) (*os.File, error), name string) error {
	file, err := open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
