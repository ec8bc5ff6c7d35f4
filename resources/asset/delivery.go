package asset

import (
	"context"
	"encoding/json"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
)

// deliveries is the collection of deliveries, by names that cannot be guessed. Its
// records belong to no network, so that the name alone identifies the asset. A
// delivery that has ended has no files.
const deliveries = "asset_deliveries"

// delivery is a record of deliveries.
type delivery struct {
	// Network and Asset identify the asset, which must be ACTIVE.
	Network string          `json:"network"`
	Asset   string          `json:"asset"`
	Files   []deliveredFile `json:"files"`
	// began is when the record was created.
	began time.Time
}

type deliveredFile struct {
	Path string `json:"path"`
	// Type is the media type, and SHA256 the id of the blob.
	Type   string `json:"type"`
	SHA256 string `json:"sha256"`
	// Size may be 0 in records of versions that did not store it.
	Size int64 `json:"size"`
}

// key returns the key of a file's blob. Networks do not share blobs.
func (d *delivery) key(f deliveredFile) store.Key { return store.Key{Network: d.Network, ID: f.SHA256} }

// file returns the file at a path.
func (d *delivery) file(path string) (f deliveredFile, found bool) {
	for i := range d.Files {
		if d.Files[i].Path == path {
			return d.Files[i], true
		}
	}
	return f, false
}

// blobTerm returns the term of the deliveries of a blob.
func blobTerm(key store.Key) store.Term {
	return store.Term{Key: "blob", Value: key.ID + " " + key.Network}
}

// terms returns the distinct terms of a delivery.
func (d *delivery) terms() []store.Term {
	var terms []store.Term
	seen := map[string]bool{}
	for _, f := range d.Files {
		if !seen[f.SHA256] {
			seen[f.SHA256] = true
			terms = append(terms, blobTerm(d.key(f)))
		}
	}
	return terms
}

func (d *delivery) document() []byte {
	files := make([]any, len(d.Files))
	for i, f := range d.Files {
		files[i] = map[string]any{"path": f.Path, "type": f.Type, "sha256": f.SHA256, "size": f.Size}
	}
	return document.Append(nil, map[string]any{"network": d.Network, "asset": d.Asset, "files": files})
}

// readDeliveries yields those deliveries that exist, with one query.
func readDeliveries(ctx context.Context, s store.Snapshot, names []string, yield func(name string, d *delivery, r *store.Record)) error {
	var keys []store.Key
	for _, name := range names {
		if document.ValidID(name) {
			keys = append(keys, store.Key{ID: name})
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return s.Get(ctx, deliveries, keys, func(r *store.Record) error {
		d := delivery{began: r.CreateTime}
		if err := json.Unmarshal(r.Document, &d); err != nil {
			return err
		}
		yield(r.ID, &d, r)
		return nil
	})
}

// newDelivery returns the write of a new delivery.
func newDelivery(name string, d *delivery, now time.Time) store.Write {
	w := store.InternalWrite(store.Record{Key: store.Key{ID: name}}, "ACTIVE", d.document(), now)
	w.AddTerms = d.terms()
	return w
}

// endDelivery returns the write that ends a delivery.
func endDelivery(r *store.Record, d *delivery, now time.Time) store.Write {
	none := delivery{Network: d.Network, Asset: d.Asset}
	w := store.InternalWrite(*r, "HIDDEN", none.document(), now)
	w.DropTerms = d.terms()
	return w
}
