package write

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/klauspost/compress/s2"

	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/store"
)

// Scratch is a temporary file that can be written, read and emptied.
type Scratch interface {
	io.Writer
	// Reader reads the content from the beginning.
	Reader() *io.SectionReader
	Reset() error
}

var (
	// errUnstaged reports that the stream depends on more than revisions can compare.
	errUnstaged = errors.New("engine: the stream cannot be staged")
	// errStale reports that objects have changed since the stream was staged.
	errStale = errors.New("engine: objects that the stream was staged on have changed")
)

const (
	// maxStagings is the number of attempts at staging a stream.
	maxStagings = 3
	// maxStagedReads bounds the other objects that a stream may depend on.
	maxStagedReads = 10_000
)

// staged is a stream ready to be stored.
//
// A store that runs one write at a time blocks the others for as long as a transaction
// runs. There, the write path runs on a snapshot first and keeps in a file what it
// would store. The transaction compares the revisions of all objects that the snapshot
// was asked for and stores the content of the file. If one has changed, the stream is
// staged again, and finally written as on other stores.
type staged struct {
	file Scratch
	// own is the collection of the stream's objects.
	own string
	// read holds the revisions of the other objects that were read, 0 for one that
	// does not exist.
	read map[store.Place]map[string]int64
	// types holds the revisions of the indexings of all types, where they were read.
	types map[string]int64
	// writes is the number of objects to write.
	writes int
}

// stagedChunk is the staged part of some objects.
type stagedChunk struct {
	Writes  []store.Write
	Changes []store.Change
	// Unchanged are objects that need not be written.
	Unchanged []stagedObject
}

type stagedObject struct {
	Key      store.Key
	Revision int64
}

// stage stages a stream. It returns nil for one that cannot be staged.
func (w *Writing) stage(s Stream, last map[string]int) (*staged, error) {
	if s.Scratch == nil || !w.e.Store.Serial() || w.e.hooks[s.Like.Type.Name].Derived {
		return nil, nil
	}
	var found *staged
	err := w.withMemory(w.ctx, func() error {
		return w.e.Store.Read(store.LongRunning(w.ctx), func(snapshot store.Snapshot) (err error) {
			found, err = w.stageOn(snapshot, s, last)
			return err
		})
	})
	if errors.Is(err, errUnstaged) {
		return nil, s.Scratch.Reset()
	}
	return found, err
}

func (w *Writing) stageOn(snapshot store.Snapshot, s Stream, last map[string]int) (*staged, error) {
	if err := s.Scratch.Reset(); err != nil {
		return nil, err
	}
	out := s2.NewWriter(s.Scratch, s2.WriterConcurrency(1))
	encoder := gob.NewEncoder(out)
	tx := &stagingTx{snapshot: snapshot, staged: &staged{file: s.Scratch, own: s.Like.Type.Name, read: map[store.Place]map[string]int64{}}}
	tx.Refuse = tx.refuse
	w.begin(tx)
	err := w.runStream(s, last, func(written bool) error {
		chunk, err := tx.chunk()
		if err != nil || !written {
			return err
		}
		if len(w.afterCommit)+len(w.beforeCommit)+len(w.affected)+len(w.followUps) > 0 || w.refersTo(tx.staged.own) {
			err = errUnstaged
		}
		if err == nil {
			err = w.answer(s, snapshot)
		}
		if err == nil {
			err = encoder.Encode(chunk)
		}
		return err
	})
	if err == nil {
		err = out.Close()
	}
	return tx.staged, err
}

// refersTo reports whether an object refers to one of a type: the snapshot has no
// names of staged objects.
func (w *Writing) refersTo(collection string) (refers bool) {
	for _, c := range w.result.Changes {
		c.Type.Shape.References(c.After, func(_ document.Pointer, ref *document.Reference, _, _ string) {
			refers = refers || ref.Type == collection
		})
	}
	return refers
}

// readTypes notes the revisions of the indexings of all types.
func readTypes(ctx context.Context, s store.Snapshot, yield func(*store.Record) error) (map[string]int64, error) {
	revisions := map[string]int64{}
	err := s.Scan(ctx, catalog.TypeCollection, store.Key{}, maxTypes, func(r *store.Record) error {
		if r.Key == catalog.LeaseKey {
			return nil
		}
		revisions[strings.Clone(r.ID)] = r.Revision
		return yield(r)
	})
	return revisions, err
}

// store writes what was staged. Unchanged objects, and others that the stream depends
// on, must still have the same revisions; Put compares those of the rest.
func (st *staged) store(ctx context.Context, tx store.Tx) error {
	for where, revisions := range st.read {
		if err := unchanged(ctx, tx, where, revisions); err != nil {
			return err
		}
	}
	if st.types != nil {
		types, err := readTypes(ctx, tx, func(*store.Record) error { return nil })
		if err != nil {
			return err
		}
		if !maps.Equal(types, st.types) {
			return errStale
		}
	}
	return st.each(ctx, func(chunk *stagedChunk) error {
		kept := map[store.Place]map[string]int64{}
		for _, object := range chunk.Unchanged {
			noteRevision(kept, store.Place{Collection: st.own, Network: object.Key.Network}, object.Key.ID, object.Revision)
		}
		for where, revisions := range kept {
			if err := unchanged(ctx, tx, where, revisions); err != nil {
				return err
			}
		}
		if len(chunk.Writes) == 0 {
			return nil
		}
		if err := tx.Put(ctx, st.own, chunk.Writes); err != nil {
			return err
		}
		return tx.Append(ctx, chunk.Changes)
	})
}

// unchanged compares the revisions of objects and returns errStale where they differ.
func unchanged(ctx context.Context, s store.Snapshot, where store.Place, revisions map[string]int64) error {
	ids := make([]string, 0, len(revisions))
	missing := 0
	for id, revision := range revisions {
		ids = append(ids, id)
		if revision == 0 {
			missing++
		}
	}
	found := 0
	err := s.Get(ctx, where.Collection, store.KeysIn(where.Network, ids), func(r *store.Record) error {
		if r.Revision != revisions[r.ID] {
			return errStale
		}
		found++
		return nil
	})
	if err == nil && found+missing != len(ids) {
		err = errStale
	}
	return err
}

func noteRevision(all map[store.Place]map[string]int64, where store.Place, id string, revision int64) {
	if all[where] == nil {
		all[where] = map[string]int64{}
	}
	all[where][id] = revision
}

// each yields the chunks and reads the next one meanwhile.
func (st *staged) each(ctx context.Context, yield func(*stagedChunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	chunks, ended := make(chan *stagedChunk), make(chan error, 1)
	go func() {
		defer close(chunks)
		decoder := gob.NewDecoder(s2.NewReader(st.file.Reader()))
		for {
			chunk := &stagedChunk{}
			if err := decoder.Decode(chunk); err != nil {
				ended <- err
				return
			}
			select {
			case chunks <- chunk:
			case <-ctx.Done():
				ended <- ctx.Err()
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range chunks { // until nobody reads the file
		}
	}()
	for chunk := range chunks {
		if err := yield(chunk); err != nil {
			return err
		}
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// stagingTx records what is read from a snapshot and what would be written. It refuses
// operations whose results cannot be compared later, and everything after one of them.
type stagingTx struct {
	store.Refusing // refuse
	snapshot       store.Snapshot
	staged         *staged
	// loaded holds the revisions of the chunk's objects once they have been read,
	// which happens once.
	loaded map[store.Key]int64
	kept   stagedChunk
	count  int
	broken bool
}

func (tx *stagingTx) refuse() error {
	tx.broken = true
	return errUnstaged
}

// Get implements store.Snapshot.
func (tx *stagingTx) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	own := collection == tx.staged.own
	if tx.count += len(keys); own && tx.loaded != nil || !own && tx.count > maxStagedReads {
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
func (tx *stagingTx) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	if collection != tx.staged.own {
		return nil, tx.refuse()
	}
	return tx.snapshot.OrderedTerms(ctx, collection, keys)
}

// Scan implements store.Snapshot for the indexings of all types.
func (tx *stagingTx) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) (err error) {
	if collection != catalog.TypeCollection || after != (store.Key{}) || limit != maxTypes {
		return tx.refuse()
	}
	tx.staged.types, err = readTypes(ctx, tx.snapshot, yield)
	return err
}

// Put implements store.Tx.
func (tx *stagingTx) Put(_ context.Context, collection string, writes []store.Write) error {
	if collection != tx.staged.own || tx.kept.Writes != nil {
		return tx.refuse()
	}
	tx.kept.Writes = writes
	return nil
}

// Append implements store.Tx.
func (tx *stagingTx) Append(_ context.Context, changes []store.Change) error {
	tx.kept.Changes = append(tx.kept.Changes, changes...)
	return nil
}

// chunk returns what the objects read last result in.
func (tx *stagingTx) chunk() (*stagedChunk, error) {
	if tx.broken {
		return nil, errUnstaged
	}
	chunk := tx.kept
	for i := range chunk.Writes {
		delete(tx.loaded, chunk.Writes[i].Key)
	}
	for key, revision := range tx.loaded {
		chunk.Unchanged = append(chunk.Unchanged, stagedObject{key, revision})
	}
	tx.staged.writes += len(chunk.Writes)
	tx.kept, tx.loaded = stagedChunk{}, nil
	return &chunk, nil
}
