package storetest

import (
	"cmp"
	"context"
	"io"
	"testing"
	"time"

	"marquee/engine/store"
)

func (v *checkedSnapshot) Blob(ctx context.Context, key store.Key, offset, length int64, yield func([]byte) error) (int64, bool, error) {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("Blob"); err != nil {
		return 0, false, err
	}
	if offset < 0 || length < 0 {
		t.Errorf("Blob: asked for %d bytes from %d on", length, offset)
	}
	var own error
	var n int64
	size, found, err := v.Snapshot.Blob(ctx, key, offset, length, func(data []byte) error {
		if own != nil {
			t.Error("Blob: yielded after an error of yield")
		}
		n += int64(len(data))
		own = yield(data)
		return own
	})
	if want := max(0, min(length, size-offset)); err == nil && n != want {
		t.Errorf("Blob: yielded %d bytes of %d from %d on, want %d", n, size, offset, want)
	}
	if !found && size != 0 {
		t.Errorf("Blob: %d bytes of a blob that is not found", size)
	}
	v.use.done("Blob", err, own)
	return size, found, err
}

func (v *checkedSnapshot) Blobs(ctx context.Context, after store.Key, limit int, yield func(store.Blob) error) error {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("Blobs"); err != nil {
		return err
	}
	var own error
	last, n := after, 0
	err := v.Snapshot.Blobs(ctx, after, limit, func(b store.Blob) error {
		if own != nil {
			t.Error("Blobs: yielded after an error of yield")
		}
		if n++; n > limit {
			t.Errorf("Blobs: yielded %d of at most %d", n, limit)
		}
		if cmp.Or(cmp.Compare(b.Network, last.Network), cmp.Compare(b.ID, last.ID)) <= 0 {
			t.Errorf("Blobs: yielded %+v after %+v", b.Key, last)
		}
		if b.Size < 0 || b.Time.IsZero() || b.Time.Location() != time.UTC || !b.Time.Equal(b.Time.Truncate(time.Millisecond)) {
			t.Errorf("Blobs: an incomplete blob: %+v", b)
		}
		last = b.Key
		own = yield(b)
		return own
	})
	v.use.done("Blobs", err, own)
	return err
}

func (v *checkedTx) PutBlob(ctx context.Context, key store.Key, size int64, open func() (io.ReadCloser, error)) error {
	t := v.use.t
	t.Helper()
	if err := v.use.begin("PutBlob"); err != nil {
		return err
	}
	if key.ID == "" || size < 0 {
		t.Errorf("PutBlob: %d bytes under %+v", size, key)
	}
	r := &checkedReader{t: t}
	err := v.tx.PutBlob(ctx, key, size, func() (io.ReadCloser, error) {
		if r.opened {
			t.Error("PutBlob: opened twice")
		}
		r.opened = true
		r.ReadCloser, r.failed = open()
		return r, r.failed
	})
	if r.ReadCloser != nil && !r.closed {
		t.Error("PutBlob: the reader was not closed")
	}
	v.use.done("PutBlob", err, r.failed, store.CodeTooLarge, store.CodeConflict)
	// Unlike an error of yield, one of the reader ends the transaction.
	if r.failed != nil && v.use.failed == nil {
		v.use.failed = r.failed
	}
	return err
}

func (v *checkedTx) DropBlobs(ctx context.Context, keys []store.Key) error {
	v.use.t.Helper()
	return v.use.call("DropBlobs", func() error { return v.tx.DropBlobs(ctx, keys) }, store.CodeConflict)
}

// checkedReader checks how a store uses the reader of PutBlob.
type checkedReader struct {
	io.ReadCloser
	t              testing.TB
	opened, closed bool
	// failed is the first error of opening, reading or closing.
	failed error
}

func (r *checkedReader) Read(p []byte) (int, error) {
	if r.closed || r.failed != nil {
		r.t.Errorf("PutBlob: read on after the reader was closed (%t) or failed (%v)", r.closed, r.failed)
	}
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		r.failed = err
	}
	return n, err
}

func (r *checkedReader) Close() error {
	r.closed = true
	err := r.ReadCloser.Close()
	if r.failed == nil {
		r.failed = err
	}
	return err
}
