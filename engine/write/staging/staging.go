// Package staging keeps in a file what a stream of objects would store, and stores it later if
// nothing that the stream depends on has changed meanwhile.
//
// A store that runs one write at a time blocks the others for as long as a transaction
// runs. There, the write path runs on a snapshot first: Tx takes the place of the transaction,
// and notes the revisions of all objects that the snapshot is asked for. Staged.Store then is
// the whole transaction. If an object has another revision by then, the stream is staged
// again, and finally written as on other stores. The package knows nothing of schemas.
package staging

import (
	"context"
	"encoding/gob"
	"errors"
	"io"
	"maps"
	"strings"

	"github.com/klauspost/compress/s2"

	"marquee/engine/catalog"
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
	// ErrUnstaged reports that the stream depends on more than revisions can compare.
	ErrUnstaged = errors.New("engine: the stream cannot be staged")
	// ErrStale reports that objects have changed since the stream was staged.
	ErrStale = errors.New("engine: objects that the stream was staged on have changed")
)

// Staged is a stream ready to be stored.
type Staged struct {
	file Scratch
	// own is the collection of the stream's objects.
	own string
	// read holds the revisions of the other objects that were read, 0 for one that
	// does not exist.
	read map[store.Place]map[string]int64
	// types holds the revisions of the indexings of all types, where they were read.
	types map[string]int64
	// Writes is the number of objects to write.
	Writes int
}

// chunk is the staged part of some objects.
type chunk struct {
	Writes  []store.Write
	Changes []store.Change
	// Unchanged are objects that need not be written.
	Unchanged []object
}

type object struct {
	Key      store.Key
	Revision int64
}

// readTypes notes the revisions of the indexings of all types.
func readTypes(ctx context.Context, s store.Snapshot, yield func(*store.Record) error) (map[string]int64, error) {
	revisions := map[string]int64{}
	err := catalog.EachIndexing(ctx, s, func(r *store.Record) error {
		revisions[strings.Clone(r.ID)] = r.Revision
		return yield(r)
	})
	return revisions, err
}

// Store writes what was staged. Unchanged objects, and others that the stream depends
// on, must still have the same revisions; Put compares those of the rest.
func (st *Staged) Store(ctx context.Context, tx store.Tx) error {
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
			return ErrStale
		}
	}
	return st.each(ctx, func(c *chunk) error {
		kept := map[store.Place]map[string]int64{}
		for _, object := range c.Unchanged {
			noteRevision(kept, store.Place{Collection: st.own, Network: object.Key.Network}, object.Key.ID, object.Revision)
		}
		for where, revisions := range kept {
			if err := unchanged(ctx, tx, where, revisions); err != nil {
				return err
			}
		}
		if len(c.Writes) == 0 {
			return nil
		}
		if err := tx.Put(ctx, st.own, c.Writes); err != nil {
			return err
		}
		return tx.Append(ctx, c.Changes)
	})
}

// unchanged compares the revisions of objects and returns ErrStale where they differ.
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
			return ErrStale
		}
		found++
		return nil
	})
	if err == nil && found+missing != len(ids) {
		err = ErrStale
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
func (st *Staged) each(ctx context.Context, yield func(*chunk) error) error {
	ctx, cancel := context.WithCancel(ctx)
	chunks, ended := make(chan *chunk), make(chan error, 1)
	go func() {
		defer close(chunks)
		decoder := gob.NewDecoder(s2.NewReader(st.file.Reader()))
		for {
			next := &chunk{}
			if err := decoder.Decode(next); err != nil {
				ended <- err
				return
			}
			select {
			case chunks <- next:
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
	for next := range chunks {
		if err := yield(next); err != nil {
			return err
		}
	}
	if err := <-ended; !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
