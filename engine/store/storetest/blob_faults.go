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

// faulty is a reader of some bytes that then calls fail.
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

// faultyClose fails when it is closed.
type faultyClose struct {
	io.Reader
	err error
}

func (r *faultyClose) Close() error { return r.err }

// testBlobFaults puts a fault into a transaction that puts a record, and blobs
// beside it: it leaves nothing, and the same transaction succeeds afterwards.
func testBlobFaults(t *testing.T, h Harness) {
	own := errors.New("own")
	const size = 1<<20 + 100
	data := bytesOf(1, size)
	reading := func(r io.ReadCloser, err error) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return r, err }
	}
	put := func(f *fixture, tx store.Tx, open func() (io.ReadCloser, error)) error {
		return tx.PutBlob(f.ctx, key("faulty"), size, open)
	}
	isOwn := func(f *fixture, err error) {
		if err != own {
			f.Errorf("got %v (%T), want the own error as it is", err, err)
		}
	}
	isCode := func(code store.Code) func(*fixture, error) { return func(f *fixture, err error) { f.code(err, code) } }
	type fault struct {
		fail func(f *fixture, tx store.Tx, cancel func()) error
		want func(*fixture, error)
	}
	faults := map[string]fault{
		"an error of the function": {func(*fixture, store.Tx, func()) error { return own }, isOwn},
		"a panic":                  {func(*fixture, store.Tx, func()) error { panic("in a transaction") }, isCode(store.CodeInternal)},
		"a conflict": {func(f *fixture, tx store.Tx, _ func()) error {
			return tx.Put(f.ctx, things, []store.Write{newRecord("record", `{}`)})
		}, isCode(store.CodeConflict)},
		"an error of open": {func(f *fixture, tx store.Tx, _ func()) error { return put(f, tx, reading(nil, own)) }, isOwn},
		"a panic of open": {func(f *fixture, tx store.Tx, _ func()) error {
			return put(f, tx, func() (io.ReadCloser, error) { panic("in open") })
		}, isCode(store.CodeInternal)},
		"an error of Close": {func(f *fixture, tx store.Tx, _ func()) error {
			return put(f, tx, reading(&faultyClose{bytes.NewReader(data), own}, nil))
		}, isOwn},
		"the end of the context": {func(f *fixture, tx store.Tx, cancel func()) error {
			again := &faulty{bytes.NewReader(data[1:]), func() error { return io.EOF }}
			first := &faulty{bytes.NewReader(data[:1]), func() error { cancel(); return io.EOF }}
			return put(f, tx, reading(&faulty{io.MultiReader(first, again), func() error { return io.EOF }}, nil))
		}, isCode(store.CodeDeadline)},
	}
	for _, n := range []int{0, 1, 256<<10 - 1, 256 << 10, size - 1, size} {
		faults[fmt.Sprintf("an error of the reader after %d bytes", n)] = fault{func(f *fixture, tx store.Tx, _ func()) error {
			return put(f, tx, reading(&faulty{bytes.NewReader(data[:n]), func() error { return own }}, nil))
		}, isOwn}
		if n < size {
			faults[fmt.Sprintf("only %d bytes", n)] = fault{func(f *fixture, tx store.Tx, _ func()) error {
				return put(f, tx, opening(data[:n]))
			}, isCode(store.CodeInternal)}
		}
		faults[fmt.Sprintf("%d bytes too many", n+1)] = fault{func(f *fixture, tx store.Tx, _ func()) error {
			return put(f, tx, opening(append(data, data[:n+1]...)))
		}, isCode(store.CodeInternal)}
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			f := open(t, h)
			f.putBlob(key("before"), data)
			work := func(f *fixture, tx store.Tx) error {
				if err := tx.Put(f.ctx, things, []store.Write{newRecord("record", `{}`)}); err != nil {
					return err
				}
				if err := tx.DropBlobs(f.ctx, []store.Key{key("before")}); err != nil {
					return err
				}
				return tx.PutBlob(f.ctx, key("beside"), size, opening(data))
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
				return put(f, tx, opening(data))
			}))
			f.read(func(s store.Snapshot) {
				f.hasNoBlob(s, key("before"))
				f.hasBlob(s, key("beside"), data)
				f.hasBlob(s, key("faulty"), data)
				same(f, "records", len(f.records(s, things, key("record"))), 1)
			})
		})
	}
	t.Run("an error that is ignored", func(t *testing.T) { testIgnoredReader(open(t, h), own) })
	t.Run("a context that has ended", func(t *testing.T) { testBlobContext(open(t, h)) })
}

// testIgnoredReader: a transaction in which a reader failed cannot be
// committed, even when its function says that all is well.
func testIgnoredReader(f *fixture, own error) {
	err := f.raw.Write(f.ctx, func(tx store.Tx) error {
		if err := tx.PutBlob(f.ctx, key("blob"), 1<<20, func() (io.ReadCloser, error) {
			return &faulty{bytes.NewReader(bytesOf(1, 600<<10)), func() error { return own }}, nil
		}); err != own {
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
		same(f, "what is stored", len(f.blobs(s, store.Key{}, everything)), 0)
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
		same(f, "what is stored", blobKeys(f.blobs(s, store.Key{}, everything)), []store.Key{key("there")})
	})
}
