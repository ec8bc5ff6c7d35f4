package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

// TestCheckpointIsNotDurable checks that nothing is lost when the disk does not confirm a
// checkpoint, later confirms others, and loses its power.
func TestCheckpointIsNotDurable(t *testing.T) {
	d := newDisk(t, 1)
	s := openTest(t, d.options())
	ensureThings(t, s)
	put := func(n int) {
		t.Helper()
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Put(t.Context(), "things", batch(n, 20, 3000)) }); err != nil {
			t.Error(err)
		}
	}
	put(1)
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		_, err := snapshot.Count(t.Context(), query.Query{Collection: "things", Network: "n"})
		checkpointOften(t, s)
		put(2)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	d.fail(fsync, 2)
	d.chances = []int{2, 2, 0}
	put(3)
	d.fail(nothing, 0)
	d.chances = nil
	if s.Note() == "" {
		t.Error("operators are not told of the failure")
	}
	put(4)
	put(5)
	put(6)
	d.chances = []int{0, 0, 0, 0}
	cut := openTest(t, d.cut(t, true).options())
	if err := cut.Verify(t.Context(), func(fault string) error { t.Log(fault); return nil }); err != nil {
		t.Error(err)
	}
	if n := stored(t, cut); n != 120 {
		t.Errorf("%d stored", n)
	}
}

// TestLogBesideExtensiveReads: the log is emptied although extensive reads need it all the time.
// They run again once, and see what was written meanwhile.
func TestLogBesideExtensiveReads(t *testing.T) {
	ctx := t.Context()
	s := openTest(t, Options{})
	ensureThings(t, s)
	checkpointOften(t, s)
	begun, stop, results := make(chan int64, 100), make(chan struct{}), make(chan error)
	read := func(snapshot store.Snapshot) error {
		count := func() (int64, error) { return snapshot.Count(ctx, query.Query{Collection: "things", Network: "n"}) }
		n, err := count()
		for begun <- n; err == nil; _, err = count() {
			select {
			case <-stop:
				return nil
			default:
			}
		}
		return err
	}
	for range 2 {
		go func() { results <- s.Read(store.LongRunning(ctx), read) }()
		if n := <-begun; n != 0 {
			t.Errorf("%d things", n)
		}
	}
	log, written := func() int64 { return sizeOf(s.options.Path + "-wal") }, 0
	write := func() {
		t.Helper()
		if err := s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "things", batch(written+1, 20, 3000)) }); err != nil {
			t.Fatal(err)
		}
		written++
	}
	most := int64(0)
	for ; log() >= most; write() {
		if most = log(); written == 20 {
			t.Fatalf("the log has %d bytes after %d writes", most, written)
		}
	}
	for range 2 {
		if n := <-begun; n == 0 {
			t.Error("a read that runs again does not see what was written meanwhile")
		}
	}
	if err := s.writer.submit(ctx, func(*transaction) error { s.writer.cleared = time.Time{}; return nil }); err != nil {
		t.Fatal(err)
	}
	for log() < 2*most {
		write()
	}
	if len(begun) > 0 {
		t.Error("a read that runs again has ended for the log")
	}
	close(stop)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestWipeBesideRead: what a read needs is not said to be overwritten, and is overwritten by the
// next call, or after the next write, once the read has ended.
func TestWipeBesideRead(t *testing.T) {
	ctx := t.Context()
	for name, again := range map[string]func(*Store) error{
		"call": func(s *Store) error { _, err := s.Wipe(ctx); return err },
		"write": func(s *Store) error {
			return errors.Join(s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "things", batch(2, 1, 1)) }), s.Close())
		},
		"write after a kill": func(s *Store) error {
			killed := filepath.Join(t.TempDir(), "marquee.db")
			copyFiles(t, s.options.Path, killed)
			again, err := Open(ctx, Options{Path: killed})
			if err != nil {
				return err
			}
			for i := range 2 { // the log is emptied after the first
				err = errors.Join(err, again.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "things", batch(2+i, 1, 1)) }))
			}
			for _, path := range []string{killed, killed + "-wal"} {
				content, wrong := os.ReadFile(path)
				if err = errors.Join(err, wrong); bytes.Contains(content, []byte("geheim")) {
					err = errors.Join(err, errors.New(path+" still has it"))
				}
			}
			return errors.Join(err, again.Close(), s.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, Options{})
			ensureThings(t, s)
			things := batch(1, 1, 1)
			things[0].Document = []byte(`{"text":"geheim"}`)
			if err := s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "things", things) }); err != nil {
				t.Fatal(err)
			}
			holds := func() (found bool) {
				for _, path := range []string{s.options.Path, s.options.Path + "-wal"} {
					content, err := os.ReadFile(path)
					if err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
					found = found || bytes.Contains(content, []byte("geheim"))
				}
				return found
			}
			err := s.Read(ctx, func(snapshot store.Snapshot) error {
				if _, err := snapshot.Count(ctx, query.Query{Collection: "things", Network: "n"}); err != nil {
					return err
				}
				things[0].Document, things[0].Revision = []byte(`{}`), 1
				if err := s.Write(ctx, func(tx store.Tx) error { return tx.Rewrite(ctx, "things", []store.Record{things[0].Record}) }); err != nil {
					t.Fatal(err)
				}
				_, err := s.Wipe(ctx)
				return err
			})
			if code, _ := store.CodeOf(err); code != store.CodeConflict || !holds() {
				t.Errorf("what a read needs is overwritten: %v", err)
			}
			if err := again(s); err != nil || holds() {
				t.Errorf("it is not overwritten after the read: %v", err)
			}
		})
	}
}

// TestPanicOfExtensiveRead: a read that panics is none that could be ended later.
func TestPanicOfExtensiveRead(t *testing.T) {
	s := openTest(t, Options{})
	func() {
		defer func() { _ = recover() }()
		_ = s.Read(store.WithEffort(t.Context(), store.Effort{Extensive: true}), func(store.Snapshot) error { panic("of a rule") })
	}()
	if len(s.walks.running) > 0 {
		t.Error("it is still known")
	}
}
