package staging

import (
	"context"
	"encoding/gob"

	"github.com/klauspost/compress/s2"

	"marquee/engine/catalog"
	"marquee/engine/store"
)

// maxReads bounds the other objects that a stream may depend on.
const maxReads = 10_000

// Tx records what is read from a snapshot and what would be written. It refuses
// operations whose results cannot be compared later, and everything after one of them.
type Tx struct {
	store.Refusing // refuse
	snapshot       store.Snapshot
	staged         *Staged
	out            *s2.Writer
	encoder        *gob.Encoder
	// loaded holds the revisions of the chunk's objects once they have been read,
	// which happens once.
	loaded map[store.Key]int64
	kept   chunk
	count  int
	broken bool
}

// Begin begins to stage a stream of objects of a collection on a snapshot. It empties the file.
func Begin(snapshot store.Snapshot, file Scratch, own string) (*Tx, error) {
	out := s2.NewWriter(file, s2.WriterConcurrency(1))
	tx := &Tx{snapshot: snapshot, staged: &Staged{file: file, own: own, read: map[store.Place]map[string]int64{}}, out: out, encoder: gob.NewEncoder(out)}
	tx.Refuse = tx.refuse
	return tx, file.Reset()
}

func (tx *Tx) refuse() error {
	tx.broken = true
	return ErrUnstaged
}

// Get implements store.Snapshot.
func (tx *Tx) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	own := collection == tx.staged.own
	if tx.count += len(keys); own && tx.loaded != nil || !own && tx.count > maxReads {
		return tx.refuse()
	}
	note := func(key store.Key, revision int64) {
		noteRevision(tx.staged.read, store.Place{Collection: collection, Network: key.Network}, key.ID, revision)
	}
	if own {
		tx.count -= len(keys)
		tx.loaded = make(map[store.Key]int64, len(keys))
		note = func(key store.Key, revision int64) { tx.loaded[key] = revision }
	}
	for _, key := range keys {
		note(key, 0)
	}
	return tx.snapshot.Get(ctx, collection, keys, func(r *store.Record) error {
		note(r.Key, r.Revision)
		return yield(r)
	})
}

// OrderedTerms implements store.Snapshot. An object has a new revision when its terms
// change, so that comparing the revisions of the chunk's objects is enough.
func (tx *Tx) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	if collection != tx.staged.own {
		return nil, tx.refuse()
	}
	return tx.snapshot.OrderedTerms(ctx, collection, keys)
}

// Scan implements store.Snapshot for the indexings of all types.
func (tx *Tx) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) (err error) {
	if collection != catalog.TypeCollection || after != (store.Key{}) || limit != catalog.MaxTypes {
		return tx.refuse()
	}
	tx.staged.types, err = readTypes(ctx, tx.snapshot, yield)
	return err
}

// Put implements store.Tx.
func (tx *Tx) Put(_ context.Context, collection string, writes []store.Write) error {
	if collection != tx.staged.own || tx.kept.Writes != nil {
		return tx.refuse()
	}
	tx.kept.Writes = writes
	return nil
}

// Append implements store.Tx.
func (tx *Tx) Append(_ context.Context, changes []store.Change) error {
	tx.kept.Changes = append(tx.kept.Changes, changes...)
	return nil
}

// Keep ends a chunk, whose objects have been read: what they result in is kept in the file,
// unless the chunk is not written, as it has faults.
func (tx *Tx) Keep(written bool) error {
	if tx.broken {
		return ErrUnstaged
	}
	kept := tx.kept
	for i := range kept.Writes {
		delete(tx.loaded, kept.Writes[i].Key)
	}
	for key, revision := range tx.loaded {
		kept.Unchanged = append(kept.Unchanged, object{key, revision})
	}
	tx.staged.Writes += len(kept.Writes)
	tx.kept, tx.loaded = chunk{}, nil
	if !written {
		return nil
	}
	return tx.encoder.Encode(&kept)
}

// Staged ends the stream, and returns what was kept of it.
func (tx *Tx) Staged() (*Staged, error) { return tx.staged, tx.out.Close() }
