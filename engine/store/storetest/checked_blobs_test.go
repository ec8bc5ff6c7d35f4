package storetest_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// brokenBlobs is a store that keeps its promise except in the ways that are set.
type brokenBlobs struct {
	store.Store
	length  int64             // more bytes than asked for
	listed  func(*store.Blob) // changes what is listed
	again   bool              // continues after an error of yield
	open    bool              // opens the reader of an existing blob
	unread  bool              // does not close the reader
	swallow bool              // returns no error of PutBlob
	wrap    bool              // returns another error of PutBlob
}

func (b *brokenBlobs) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	return b.Store.Read(ctx, func(s store.Snapshot) error { return fn(&brokenBlobSnapshot{s, b}) })
}

func (b *brokenBlobs) Write(ctx context.Context, fn func(store.Tx) error) error {
	return b.Store.Write(ctx, func(tx store.Tx) error { return fn(&brokenBlobTx{tx, b}) })
}

type brokenBlobSnapshot struct {
	store.Snapshot
	b *brokenBlobs
}

func (v *brokenBlobSnapshot) Blob(ctx context.Context, key store.Key, offset, length int64, yield func([]byte) error) (int64, bool, error) {
	return v.Snapshot.Blob(ctx, key, offset, length+v.b.length, func(data []byte) error {
		err := yield(data)
		if v.b.again {
			_ = yield(data)
		}
		return err
	})
}

func (v *brokenBlobSnapshot) Blobs(ctx context.Context, after store.Key, limit int, yield func(store.Blob) error) error {
	return v.Snapshot.Blobs(ctx, after, limit, func(b store.Blob) error {
		if v.b.listed != nil {
			v.b.listed(&b)
		}
		err := yield(b)
		if v.b.again {
			_ = yield(b)
		}
		return err
	})
}

type brokenBlobTx struct {
	store.Tx
	b *brokenBlobs
}

func (v *brokenBlobTx) PutBlob(ctx context.Context, key store.Key, size int64, open func() (io.ReadCloser, error)) error {
	if v.b.open || v.b.unread {
		_, _ = open()
	}
	if v.b.unread {
		return nil
	}
	err := v.Tx.PutBlob(ctx, key, size, open)
	switch {
	case v.b.swallow:
		return nil
	case v.b.wrap:
		return errors.New("wrapped: " + err.Error())
	}
	return err
}

// use is a way to use a store.
type use = func(context.Context, store.Store)

func blobKey(id string) store.Key { return store.Key{Network: "n", ID: id} }

func openText() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("text")), nil }

func openFails() (io.ReadCloser, error) { return nil, errOwn }

// readBlob reads from a blob; yield returns an error.
func readBlob(offset, length int64, yields error) use {
	return func(ctx context.Context, s store.Store) {
		_ = s.Read(ctx, func(v store.Snapshot) error {
			_, _, err := v.Blob(ctx, blobKey("a"), offset, length, func([]byte) error { return yields })
			return err
		})
	}
}

// listBlobs lists the blobs; yield returns an error.
func listBlobs(yields error) use {
	return func(ctx context.Context, s store.Store) {
		_ = s.Read(ctx, func(v store.Snapshot) error {
			return v.Blobs(ctx, store.Key{}, 2, func(store.Blob) error { return yields })
		})
	}
}

// putBlob puts a blob in a transaction that is rolled back.
func putBlob(id string, size int64, open func() (io.ReadCloser, error)) use {
	return func(ctx context.Context, s store.Store) {
		_ = s.Write(ctx, func(tx store.Tx) error {
			_ = tx.PutBlob(ctx, blobKey(id), size, open)
			return store.ErrRollback
		})
	}
}

// blobBreaches are stores that break their promise of blobs, and what Checked
// reports.
var blobBreaches = []struct {
	name   string
	breach brokenBlobs
	use    use
	want   string // part of the report; "" when there is none
}{
	{"no breach of Blob", brokenBlobs{}, readBlob(1, 2, nil), ""},
	{"no breach of Blob that ends early", brokenBlobs{}, readBlob(1, 2, errOwn), ""},
	{"no breach of Blobs", brokenBlobs{}, listBlobs(nil), ""},
	{"no breach of PutBlob", brokenBlobs{}, putBlob("c", 4, openText), ""},
	{"no breach of PutBlob of an existing blob", brokenBlobs{}, putBlob("a", 4, openText), ""},
	{"no breach of PutBlob that fails", brokenBlobs{}, putBlob("c", 4, openFails), ""},
	{"a failure of PutBlob that the function ignores, and the store does not", brokenBlobs{}, func(ctx context.Context, s store.Store) {
		_ = s.Write(ctx, func(tx store.Tx) error { _ = tx.PutBlob(ctx, blobKey("c"), 4, openFails); return nil })
	}, ""},
	{"more bytes than asked for", brokenBlobs{length: 1}, readBlob(1, 2, nil), "yielded 3 bytes of 4 from 1 on, want 2"},
	{"a negative offset", brokenBlobs{}, readBlob(-1, 0, nil), "asked for 0 bytes from -1 on"},
	{"bytes after an error of yield", brokenBlobs{again: true}, readBlob(1, 2, errOwn), "yielded after an error"},
	{"a blob after an error of yield", brokenBlobs{again: true}, listBlobs(errOwn), "yielded after an error"},
	{"a blob twice", brokenBlobs{again: true}, listBlobs(nil), "yielded {Network:n ID:a} after {Network:n ID:a}"},
	{"more blobs than asked for", brokenBlobs{again: true}, listBlobs(nil), "yielded 3 of at most 2"},
	{"a local time", brokenBlobs{listed: func(b *store.Blob) { b.Time = b.Time.In(time.FixedZone("east", 60)) }}, listBlobs(nil), "incomplete blob"},
	{"no time", brokenBlobs{listed: func(b *store.Blob) { b.Time = time.Time{} }}, listBlobs(nil), "incomplete blob"},
	{"opened twice", brokenBlobs{open: true}, putBlob("c", 4, openText), "opened twice"},
	{"not closed", brokenBlobs{unread: true}, putBlob("c", 4, openText), "not closed"},
	{"an error that is swallowed", brokenBlobs{swallow: true}, putBlob("c", 4, openFails), "instead of the error"},
	{"an error that is wrapped", brokenBlobs{wrap: true}, putBlob("c", 4, openFails), "instead of the error"},
	{"another library's error", brokenBlobs{wrap: true}, putBlob("c", 5, openText), "not a *store.Error"},
	{"a negative size", brokenBlobs{}, putBlob("c", -1, openText), "-1 bytes under"},
	{"used from its reader", brokenBlobs{}, func(ctx context.Context, s store.Store) {
		_ = s.Write(ctx, func(tx store.Tx) error {
			return tx.PutBlob(ctx, blobKey("c"), 4, func() (io.ReadCloser, error) {
				return nil, tx.DropBlobs(ctx, nil)
			})
		})
	}, "while another call is under way"},
}

// TestCheckedBlobs: the decorator reports nothing of a store that keeps its
// promise of blobs, and each breach of one that does not.
func TestCheckedBlobs(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "marquee.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Write(ctx, func(tx store.Tx) error {
		return errors.Join(tx.PutBlob(ctx, blobKey("a"), 4, openText), tx.PutBlob(ctx, blobKey("b"), 4, openText))
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range blobBreaches {
		t.Run(c.name, func(t *testing.T) {
			c.breach.Store = s
			reports(t, &c.breach, c.use, c.want)
		})
	}
}
