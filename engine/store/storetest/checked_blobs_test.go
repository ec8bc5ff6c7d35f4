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
	"marquee/engine/store/storetest"
)

// brokenBlobs is a store that keeps its promise but for what is set.
type brokenBlobs struct {
	store.Store
	length  int64             // more bytes than asked for
	listed  func(*store.Blob) // changes what is listed
	again   bool              // goes on after an error of yield
	open    bool              // opens what is there
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

// TestCheckedBlobs: the decorator says nothing of a store that keeps its
// promise of blobs, and names each breach of one that does not.
func TestCheckedBlobs(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "marquee.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key := func(id string) store.Key { return store.Key{Network: "n", ID: id} }
	text := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("text")), nil }
	if err := s.Write(ctx, func(tx store.Tx) error {
		return errors.Join(tx.PutBlob(ctx, key("a"), 4, text), tx.PutBlob(ctx, key("b"), 4, text))
	}); err != nil {
		t.Fatal(err)
	}
	own := errors.New("own")
	fails := func() (io.ReadCloser, error) { return nil, own }
	read := func(offset, length int64, yields error) func(store.Store) {
		return func(s store.Store) {
			_ = s.Read(ctx, func(v store.Snapshot) error {
				_, _, err := v.Blob(ctx, key("a"), offset, length, func([]byte) error { return yields })
				return err
			})
		}
	}
	list := func(yields error) func(store.Store) {
		return func(s store.Store) {
			_ = s.Read(ctx, func(v store.Snapshot) error {
				return v.Blobs(ctx, store.Key{}, 2, func(store.Blob) error { return yields })
			})
		}
	}
	put := func(id string, size int64, open func() (io.ReadCloser, error)) func(store.Store) {
		return func(s store.Store) {
			_ = s.Write(ctx, func(tx store.Tx) error {
				_ = tx.PutBlob(ctx, key(id), size, open)
				return store.ErrRollback
			})
		}
	}
	for _, c := range []struct {
		name   string
		breach brokenBlobs
		use    func(store.Store)
		want   string // of what is said; "" is nothing
	}{
		{"no breach of Blob", brokenBlobs{}, read(1, 2, nil), ""},
		{"no breach of Blob that ends early", brokenBlobs{}, read(1, 2, own), ""},
		{"no breach of Blobs", brokenBlobs{}, list(nil), ""},
		{"no breach of PutBlob", brokenBlobs{}, put("c", 4, text), ""},
		{"no breach of PutBlob of what is there", brokenBlobs{}, put("a", 4, text), ""},
		{"no breach of PutBlob that fails", brokenBlobs{}, put("c", 4, fails), ""},
		{"a failure of PutBlob that the function ignores, and the store does not", brokenBlobs{}, func(s store.Store) {
			_ = s.Write(ctx, func(tx store.Tx) error { _ = tx.PutBlob(ctx, key("c"), 4, fails); return nil })
		}, ""},
		{"more bytes than asked for", brokenBlobs{length: 1}, read(1, 2, nil), "yielded 3 bytes of 4 from 1 on, want 2"},
		{"a negative offset", brokenBlobs{}, read(-1, 0, nil), "asked for 0 bytes from -1 on"},
		{"bytes after an error of yield", brokenBlobs{again: true}, read(1, 2, own), "yielded after an error"},
		{"a blob after an error of yield", brokenBlobs{again: true}, list(own), "yielded after an error"},
		{"a blob twice", brokenBlobs{again: true}, list(nil), "yielded {Network:n ID:a} after {Network:n ID:a}"},
		{"more blobs than asked for", brokenBlobs{again: true}, list(nil), "yielded 3 of at most 2"},
		{"a local time", brokenBlobs{listed: func(b *store.Blob) { b.Time = b.Time.In(time.FixedZone("east", 60)) }}, list(nil), "incomplete blob"},
		{"no time", brokenBlobs{listed: func(b *store.Blob) { b.Time = time.Time{} }}, list(nil), "incomplete blob"},
		{"opened twice", brokenBlobs{open: true}, put("c", 4, text), "opened twice"},
		{"not closed", brokenBlobs{unread: true}, put("c", 4, text), "not closed"},
		{"an error that is swallowed", brokenBlobs{swallow: true}, put("c", 4, fails), "instead of the error"},
		{"an error that is wrapped", brokenBlobs{wrap: true}, put("c", 4, fails), "instead of the error"},
		{"another library's error", brokenBlobs{wrap: true}, put("c", 5, text), "not a *store.Error"},
		{"a negative size", brokenBlobs{}, put("c", -1, text), "-1 bytes under"},
		{"used from its reader", brokenBlobs{}, func(s store.Store) {
			_ = s.Write(ctx, func(tx store.Tx) error {
				return tx.PutBlob(ctx, key("c"), 4, func() (io.ReadCloser, error) {
					return nil, tx.DropBlobs(ctx, nil)
				})
			})
		}, "while another call is under way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			told := &recorder{TB: t}
			c.breach.Store = s
			c.use(storetest.Checked(&c.breach, told))
			switch said := strings.Join(told.said, "\n"); {
			case c.want == "" && said != "":
				t.Errorf("said of a store that keeps its promise: %s", said)
			case !strings.Contains(said, c.want):
				t.Errorf("said %q, want %q", said, c.want)
			}
		})
	}
}
