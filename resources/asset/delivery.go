package asset

import (
	"context"
	"encoding/json"
	"time"

	"marquee/engine/document"
	"marquee/engine/store"
)

// deliveries holds what is delivered, by names that nobody can guess. The
// records are of no network, so that the name alone leads to the asset. One
// that is not delivered any more has no files left.
const deliveries = "asset_deliveries"

// delivery is such a record.
type delivery struct {
	// Network and Asset name the asset whose state decides.
	Network string          `json:"network"`
	Asset   string          `json:"asset"`
	Files   []deliveredFile `json:"files"`
}

type deliveredFile struct {
	Path string `json:"path"`
	// Type is the media type, SHA256 the id of the blob.
	Type   string `json:"type"`
	SHA256 string `json:"sha256"`
}

// key is that of a file's blob: each network has its own.
func (d *delivery) key(f deliveredFile) store.Key { return store.Key{Network: d.Network, ID: f.SHA256} }

// blobTerm finds the deliveries that have a file with a blob.
func blobTerm(key store.Key) store.Term {
	return store.Term{Key: "blob", Value: key.ID + " " + key.Network}
}

// terms are those of a delivery, each once.
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
		files[i] = map[string]any{"path": f.Path, "type": f.Type, "sha256": f.SHA256}
	}
	return document.Append(nil, map[string]any{"network": d.Network, "asset": d.Asset, "files": files})
}

// readDeliveries reads those of the deliveries that there are, in one query.
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
		var d delivery
		if err := json.Unmarshal(r.Document, &d); err != nil {
			return err
		}
		yield(r.ID, &d, r)
		return nil
	})
}

// newDelivery is the write of a delivery that there was not.
func newDelivery(name string, d *delivery, now time.Time) store.Write {
	return store.Write{AddTerms: d.terms(), Record: store.Record{Key: store.Key{ID: name}, Version: 1, State: "ACTIVE",
		CreateTime: now, UpdateTime: now, Document: d.document()}}
}

// ended is the write by which a delivery ends.
func ended(r *store.Record, d *delivery, now time.Time) store.Write {
	none := delivery{Network: d.Network, Asset: d.Asset}
	return store.Write{Expected: r.Version, DropTerms: d.terms(), Record: store.Record{Key: r.Key, Version: r.Version + 1,
		State: "HIDDEN", CreateTime: r.CreateTime, UpdateTime: now, Document: none.document()}}
}
