package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"marquee/engine/document"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// ReadIndexing decodes the record of a type, which is only lent. The result must not
// be changed.
func (c *Catalog) ReadIndexing(r *store.Record) (*Indexing, error) {
	if known, ok := c.indexings.Load(r.ID); ok && bytes.Equal(known.(*knownIndexing).document, r.Document) {
		return known.(*knownIndexing).indexing, nil
	}
	n, err := decodeIndexing(r.Document)
	if err == nil {
		c.indexings.Store(r.ID, &knownIndexing{document: slices.Clone(r.Document), indexing: n})
	}
	return n, err
}

// knownIndexing is a decoded indexing with the document it was decoded from.
type knownIndexing struct {
	document []byte
	indexing *Indexing
}

// WantedIndexing is IndexingOf for a type that is written often. The result must not
// be changed.
func (c *Catalog) WantedIndexing(t *schema.Type) *Indexing {
	if known, ok := c.wanted.Load(t.Name); ok && known.(*wantedIndexing).t == t {
		return known.(*wantedIndexing).indexing
	}
	n := IndexingOf(t)
	c.wanted.Store(t.Name, &wantedIndexing{t, n})
	return n
}

// wantedIndexing is the indexing that a type asks for.
type wantedIndexing struct {
	t        *schema.Type
	indexing *Indexing
}

func decodeIndexing(text []byte) (*Indexing, error) {
	n := &Indexing{}
	if err := json.Unmarshal(text, n); err != nil {
		return nil, err
	}
	n.upgrade()
	n.Prepare()
	return n, n.compileRules()
}

// Encode returns the stored form.
func (n *Indexing) Encode() ([]byte, error) {
	n.tidy()
	return document.Encode(n)
}

// Unamend notes that objects of a type may lack what its schema asks for.
func Unamend(ctx context.Context, tx store.Tx, name string, now time.Time) error {
	var record store.Record
	var n *Indexing
	err := tx.Get(ctx, TypeCollection, []store.Key{{ID: name}}, func(r *store.Record) (err error) {
		record = *r.Clone()
		n, err = decodeIndexing(r.Document)
		return err
	})
	if err != nil || n == nil {
		return err
	}
	n.Amended = ""
	content, err := n.Encode()
	if err != nil {
		return err
	}
	return tx.Put(ctx, TypeCollection, []store.Write{store.InternalWrite(record, "ACTIVE", content, now)})
}

// StoredIndexing is an indexing with the record that holds it.
type StoredIndexing struct {
	*Indexing
	Record store.Record
}

// ReadAll reads the indexings of all types.
func ReadAll(ctx context.Context, s store.Snapshot) (map[string]StoredIndexing, error) {
	all := map[string]StoredIndexing{}
	err := EachIndexing(ctx, s, func(r *store.Record) error {
		n, err := decodeIndexing(r.Document)
		all[r.ID] = StoredIndexing{Indexing: n, Record: *r.Clone()}
		return err
	})
	return all, err
}

// MaxTypes is a number of types that no store has.
const MaxTypes = 1 << 20

// EachIndexing yields the lent records of the indexings of all types, in one scan of
// TypeCollection with the limit MaxTypes.
func EachIndexing(ctx context.Context, s store.Snapshot, yield func(r *store.Record) error) error {
	return s.Scan(ctx, TypeCollection, store.Key{}, MaxTypes, func(r *store.Record) error {
		if r.Key == LeaseKey {
			return nil
		}
		return yield(r)
	})
}

// TypeCollection holds the indexing of each type.
const TypeCollection = "engine_types"

// LeaseKey is the key of the lease in TypeCollection. No type has such a name.
var LeaseKey = store.Key{ID: ".lease"}
