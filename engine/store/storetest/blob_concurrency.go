package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"testing"

	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// testBlobConcurrency proves the isolation of transactions that use blobs.
func testBlobConcurrency(t *testing.T, h Harness) {
	t.Run("concurrent puts of one blob", func(t *testing.T) { testSameBlob(open(t, h)) })
	t.Run("no dangling references", func(t *testing.T) { testBlobReferences(open(t, h)) })
}

// testSameBlob proves that concurrent puts of the same bytes all succeed and
// store one blob.
func testSameBlob(f *fixture) {
	const writers, rounds = 12, 4
	for round := range rounds {
		blob, data := key(fmt.Sprintf("blob-%d", round)), bytesOf(byte(round), 700<<10)
		together(writers, func(i int) {
			if err := f.write(func(tx store.Tx) error {
				if err := tx.PutBlob(f.ctx, blob, int64(len(data)), opening(data)); err != nil {
					return err
				}
				return tx.Put(f.ctx, things, []store.Write{newRecord(fmt.Sprintf("%d-%02d", round, i), `{}`)})
			}); err != nil {
				f.Error(err)
			}
		})
		f.read(func(s store.Snapshot) {
			f.hasBlob(s, blob, data)
			same(f, "how many blobs", len(f.blobs(s, store.Key{}, everything)), round+1)
			same(f, "how many records", f.count(s, all(things, nil)), writers*(round+1))
		})
		f.dropBlobs(blob)
		f.read(func(s store.Snapshot) { f.hasNoBlob(s, blob) })
		f.putBlob(blob, data[:1]) // nothing of the dropped blob is left after it
		f.read(func(s store.Snapshot) { f.hasBlob(s, blob, data[:1]) })
	}
}

// errBlobLost is a reference to a blob that is missing or has other bytes.
var errBlobLost = errors.New("a record refers to a blob that is not there")

// sharedBlobs are a few blobs. Writers add and remove references to them, while
// collectors drop those without any.
type sharedBlobs struct {
	*fixture
	data map[string][]byte
	// dropped counts the blobs that were collected, restored those that were
	// put again afterwards.
	dropped, restored, checked atomic.Int64
}

func (b *sharedBlobs) term(id string) store.Term { return store.Term{Key: "blob", Value: id} }

// refer makes a record refer to a blob, or to none.
func (b *sharedBlobs) refer(record, blob string) error {
	opened := false
	err := b.write(func(tx store.Tx) error {
		opened = false
		w := newRecord(record, `{}`)
		err := tx.Get(b.ctx, things, []store.Key{key(record)}, func(r *store.Record) error {
			w = next(keep(r), `{}`)
			if now, err := blobOf(r); err != nil || now == "" {
				return err
			} else {
				w.DropTerms = []store.Term{b.term(now)}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if blob != "" {
			w.AddTerms, w.Document = []store.Term{b.term(blob)}, encode(map[string]any{"blob": blob})
			if err := tx.PutBlob(b.ctx, key(blob), int64(len(b.data[blob])), func() (io.ReadCloser, error) {
				opened = true
				return opening(b.data[blob])()
			}); err != nil {
				return err
			}
		}
		return tx.Put(b.ctx, things, []store.Write{w})
	})
	if opened {
		b.restored.Add(1)
	}
	return err
}

// blobOf returns the blob that a record refers to, or "".
func blobOf(r *store.Record) (string, error) {
	object, err := document.DecodeObject(r.Document, document.DefaultLimits)
	blob, _ := object["blob"].(string)
	return blob, err
}

// collect drops a blob unless a record refers to it.
func (b *sharedBlobs) collect(blob string) error {
	dropped := false
	err := b.write(func(tx store.Tx) error {
		dropped = false
		referred := false
		q := all(things, query.Term{Key: "blob", Value: blob})
		q.Limit = 1
		if err := tx.Find(b.ctx, q, func(*store.Record) error { referred = true; return nil }); err != nil || referred {
			return err
		}
		_, found, err := tx.Blob(b.ctx, key(blob), 0, 0, func([]byte) error { return nil })
		if err != nil || !found {
			return err
		}
		dropped = true
		return tx.DropBlobs(b.ctx, []store.Key{key(blob)})
	})
	if dropped {
		b.dropped.Add(1)
	}
	return err
}

// check reads all records and the blobs that they refer to.
func (b *sharedBlobs) check() error {
	return b.s.Read(b.ctx, func(s store.Snapshot) error {
		var refers []string
		if err := s.Find(b.ctx, all(things, nil), func(r *store.Record) error {
			blob, err := blobOf(r)
			if blob != "" {
				refers = append(refers, blob)
			}
			return err
		}); err != nil {
			return err
		}
		for _, blob := range refers {
			b.checked.Add(1)
			var data []byte
			_, found, err := s.Blob(b.ctx, key(blob), 0, math.MaxInt64, func(piece []byte) error {
				data = append(data, piece...)
				return nil
			})
			if err != nil {
				return err
			}
			if !found || !bytes.Equal(data, b.data[blob]) {
				return errBlobLost
			}
		}
		return nil
	})
}

// testBlobReferences proves that no snapshot has a record without its blob,
// provided that a transaction which adds a reference puts the blob, and one
// which drops a blob has found no reference.
func testBlobReferences(f *fixture) {
	const blobs, writers, collectors, times = 3, 4, 2, 25
	b := &sharedBlobs{fixture: f, data: map[string][]byte{}}
	id := func(i int) string { return fmt.Sprintf("blob-%d", i%blobs) }
	for i := range blobs {
		b.data[id(i)] = bytesOf(byte(i), 300<<10)
	}
	var running atomic.Int64
	running.Store(writers)
	together(writers+collectors+1, func(i int) {
		switch {
		case i < writers:
			defer running.Add(-1)
			for n := range times {
				for _, blob := range []string{id(i + n), ""} {
					if err := b.refer(fmt.Sprintf("record-%d", i), blob); err != nil {
						f.Error(err)
					}
				}
			}
		case i < writers+collectors:
			for n := 0; running.Load() > 0; n++ {
				if err := b.collect(id(i + n)); err != nil {
					f.Error(err)
				}
			}
		default:
			for running.Load() > 0 && !f.Failed() {
				if err := b.check(); err != nil {
					f.Error(err)
				}
			}
		}
	})
	f.must(b.check())
	if b.dropped.Load() == 0 || b.restored.Load() <= blobs || b.checked.Load() == 0 {
		f.Errorf("the test is vacuous: %d blobs were dropped, %d stored, %d references checked",
			b.dropped.Load(), b.restored.Load(), b.checked.Load())
	}
	for i := range blobs {
		f.must(b.collect(id(i)))
	}
	f.read(func(s store.Snapshot) { same(f, "remaining blobs", len(f.blobs(s, store.Key{}, everything)), 0) })
}
