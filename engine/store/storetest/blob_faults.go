package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"marquee/engine/store"
)

// faulty reads some bytes and then calls fail.
type faulty struct {
	io.Reader
	fail func() error
}

func (r *faulty) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		err = r.fail()
	}
	return n, err
}

func (r *faulty) Close() error { return nil }

// faultyClose is a reader that fails to close.
type faultyClose struct {
	io.Reader
	err error
}

func (r *faultyClose) Close() error { return r.err }

// faultySize is the size of the blobs of testBlobFaults.
const faultySize = 1<<20 + 100

// errOwn is an error that only tests return.
var errOwn = errors.New("own")

// blobFault is an error in a transaction, and what Write must return.
type blobFault struct {
	fail func(f *fixture, tx store.Tx, cancel func()) error
	want func(*fixture, error)
}

func putFaulty(f *fixture, tx store.Tx, open func() (io.ReadCloser, error)) error {
	return tx.PutBlob(f.ctx, key("faulty"), faultySize, open)
}

// blobFaults returns the errors by name.
func blobFaults(data []byte) map[string]blobFault {
	reading := func(r io.ReadCloser, err error) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return r, err }
	}
	isOwnError := func(f *fixture, err error) {
		if err != errOwn {
			f.Errorf("got %v (%T), want its own error unchanged", err, err)
		}
	}
	hasCode := func(code store.Code) func(*fixture, error) { return func(f *fixture, err error) { f.code(err, code) } }
	faults := map[string]blobFault{
		"an error of the function": {func(*fixture, store.Tx, func()) error { return errOwn }, isOwnError},
		"a panic":                  {func(*fixture, store.Tx, func()) error { panic("in a transaction") }, hasCode(store.CodeInternal)},
		"a conflict": {func(f *fixture, tx store.Tx, _ func()) error {
			return tx.Put(f.ctx, things, []store.Write{newRecord("record", `{}`)})
		}, hasCode(store.CodeConflict)},
		"an error of open": {func(f *fixture, tx store.Tx, _ func()) error { return putFaulty(f, tx, reading(nil, errOwn)) }, isOwnError},
		"a panic of open": {func(f *fixture, tx store.Tx, _ func()) error {
			return putFaulty(f, tx, func() (io.ReadCloser, error) { panic("in open") })
		}, hasCode(store.CodeInternal)},
		"an error of Close": {func(f *fixture, tx store.Tx, _ func()) error {
			return putFaulty(f, tx, reading(&faultyClose{bytes.NewReader(data), errOwn}, nil))
		}, isOwnError},
		"the end of the context": {func(f *fixture, tx store.Tx, cancel func()) error {
			again := &faulty{bytes.NewReader(data[1:]), func() error { return io.EOF }}
			first := &faulty{bytes.NewReader(data[:1]), func() error { cancel(); return io.EOF }}
			return putFaulty(f, tx, reading(&faulty{io.MultiReader(first, again), func() error { return io.EOF }}, nil))
		}, hasCode(store.CodeDeadline)},
	}
	for _, n := range []int{0, 1, 256<<10 - 1, 256 << 10, faultySize - 1, faultySize} {
		faults[fmt.Sprintf("an error of the reader after %d bytes", n)] = blobFault{func(f *fixture, tx store.Tx, _ func()) error {
			return putFaulty(f, tx, reading(&faulty{bytes.NewReader(data[:n]), func() error { return errOwn }}, nil))
		}, isOwnError}
		if n < faultySize {
			faults[fmt.Sprintf("only %d bytes", n)] = blobFault{func(f *fixture, tx store.Tx, _ func()) error {
				return putFaulty(f, tx, opening(data[:n]))
			}, hasCode(store.CodeInternal)}
		}
		faults[fmt.Sprintf("%d bytes too many", n+1)] = blobFault{func(f *fixture, tx store.Tx, _ func()) error {
			return putFaulty(f, tx, opening(append(data, data[:n+1]...)))
		}, hasCode(store.CodeInternal)}
	}
	return faults
}

// testBlobFaults injects an error into a transaction that puts a record and
// blobs: nothing of it is stored, and the same transaction succeeds afterwards.
func testBlobFaults(t *testing.T, h Harness) {
	data := bytesOf(1, faultySize)
	for name, fault := range blobFaults(data) {
		t.Run(name, func(t *testing.T) { testBlobFault(open(t, h), fault, data) })
	}
	t.Run("an ignored error", func(t *testing.T) { testIgnoredReader(open(t, h)) })
	t.Run("a context that has ended", func(t *testing.T) { testBlobContext(open(t, h)) })
}

func testBlobFault(f *fixture, fault blobFault, data []byte) {
	f.putBlob(key("before"), data)
	work := func(f *fixture, tx store.Tx) error {
		if err := tx.Put(f.ctx, things, []store.Write{newRecord("record", `{}`)}); err != nil {
			return err
		}
		if err := tx.DropBlobs(f.ctx, []store.Key{key("before")}); err != nil {
			return err
		}
		return tx.PutBlob(f.ctx, key("beside"), faultySize, opening(data))
	}
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	inside := *f
	inside.ctx = ctx
	fault.want(f, f.s.Write(ctx, func(tx store.Tx) error {
		if err := work(&inside, tx); err != nil {
			return err
		}
		return fault.fail(&inside, tx, cancel)
	}))
	f.read(func(s store.Snapshot) {
		f.hasBlob(s, key("before"), data)
		f.hasNoBlob(s, key("beside"))
		f.hasNoBlob(s, key("faulty"))
		same(f, "listed after the fault", blobKeys(f.blobs(s, store.Key{}, everything)), []store.Key{key("before")})
		same(f, "records after the fault", len(f.records(s, things, key("record"))), 0)
	})
	f.must(f.write(func(tx store.Tx) error {
		if err := work(f, tx); err != nil {
			return err
		}
		return putFaulty(f, tx, opening(data))
	}))
	f.read(func(s store.Snapshot) {
		f.hasNoBlob(s, key("before"))
		f.hasBlob(s, key("beside"), data)
		f.hasBlob(s, key("faulty"), data)
		same(f, "records", len(f.records(s, things, key("record"))), 1)
	})
}

// testIgnoredReader proves that a transaction whose reader failed is not
// committed, even when its function ignores the error.
func testIgnoredReader(f *fixture) {
	err := f.raw.Write(f.ctx, func(tx store.Tx) error {
		if err := tx.PutBlob(f.ctx, key("blob"), 1<<20, func() (io.ReadCloser, error) {
			return &faulty{bytes.NewReader(bytesOf(1, 600<<10)), func() error { return errOwn }}, nil
		}); err != errOwn {
			f.Errorf("PutBlob returned %v", err)
		}
		for name, use := range map[string]func() error{
			"PutBlob":   func() error { return tx.PutBlob(f.ctx, key("after"), 0, opening(nil)) },
			"DropBlobs": func() error { return tx.DropBlobs(f.ctx, []store.Key{key("blob")}) },
			"Blobs":     func() error { return tx.Blobs(f.ctx, store.Key{}, 1, func(store.Blob) error { return nil }) },
			"Blob": func() error {
				_, _, err := tx.Blob(f.ctx, key("blob"), 0, 1, func([]byte) error { return nil })
				return err
			},
			"Put": func() error { return tx.Put(f.ctx, things, []store.Write{newRecord("after", `{}`)}) },
		} {
			if use() == nil {
				f.Errorf("a %s succeeded in a transaction that had ended", name)
			}
		}
		return nil
	})
	if err == nil {
		f.Error("the transaction was committed")
	}
	f.read(func(s store.Snapshot) {
		same(f, "blobs", len(f.blobs(s, store.Key{}, everything)), 0)
		f.hasNoBlob(s, key("blob"))
		f.hasNoBlob(s, key("after"))
	})
}

func testBlobContext(f *fixture) {
	f.putBlob(key("there"), []byte("there"))
	for name, use := range map[string]func(context.Context, store.Tx) error{
		"PutBlob":           func(ctx context.Context, tx store.Tx) error { return tx.PutBlob(ctx, key("late"), 0, opening(nil)) },
		"PutBlob, as there": func(ctx context.Context, tx store.Tx) error { return tx.PutBlob(ctx, key("there"), 5, f.unopened) },
		"DropBlobs":         func(ctx context.Context, tx store.Tx) error { return tx.DropBlobs(ctx, []store.Key{key("there")}) },
	} {
		ctx, cancel := context.WithCancel(f.ctx)
		err := f.s.Write(ctx, func(tx store.Tx) error {
			cancel()
			return use(ctx, tx)
		})
		if code, ok := store.CodeOf(err); !ok || code != store.CodeDeadline {
			f.Errorf("%s: %v", name, err)
		}
	}
	for name, use := range map[string]func(context.Context, store.Snapshot) error{
		"Blob": func(ctx context.Context, s store.Snapshot) error {
			_, _, err := s.Blob(ctx, key("there"), 0, 5, func([]byte) error { return nil })
			return err
		},
		"Blobs": func(ctx context.Context, s store.Snapshot) error {
			return s.Blobs(ctx, store.Key{}, 1, func(store.Blob) error { return nil })
		},
	} {
		ctx, cancel := context.WithCancel(f.ctx)
		err := f.s.Read(ctx, func(s store.Snapshot) error {
			cancel()
			return use(ctx, s)
		})
		if code, ok := store.CodeOf(err); !ok || code != store.CodeDeadline {
			f.Errorf("%s: %v", name, err)
		}
	}
	f.read(func(s store.Snapshot) {
		same(f, "blobs", blobKeys(f.blobs(s, store.Key{}, everything)), []store.Key{key("there")})
	})
}
