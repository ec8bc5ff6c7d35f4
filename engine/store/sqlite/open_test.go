package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/query"
	"marquee/engine/store"
)

// seed creates a store with some records at a path, and closes it.
func seed(t *testing.T, path string) {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	ensureThings(t, s)
	for i := range 3 {
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			return tx.Put(t.Context(), "things", batch(i, 100, 500))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// overwrite replaces bytes of a file.
func overwrite(t *testing.T, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, at); err != nil {
		t.Fatal(err)
	}
}

// The offsets of two numbers in the header of an SQLite file.
const (
	userVersionAt   = 60
	applicationIDAt = 68
)

func bigEndian(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// TestOpenRefuses checks that a file that is not a store of this program is
// refused with a reason, and stays unchanged byte for byte.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		want    string
	}{
		{"a newer version", func(t *testing.T, path string) {
			seed(t, path)
			overwrite(t, path, userVersionAt, bigEndian(uint32(len(migrations)+1)))
		}, "newer Marquee"},
		{"another program's database", func(t *testing.T, path string) {
			db, err := sqlite3.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Exec("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)"); err != nil {
				t.Fatal(err)
			}
		}, "another program"},
		{"another application id", func(t *testing.T, path string) {
			seed(t, path)
			overwrite(t, path, applicationIDAt, bigEndian(7))
		}, "another program"},
		{"no database", func(t *testing.T, path string) {
			write(t, path, []byte(strings.Repeat("This is a letter, not a database. ", 300)))
		}, "not an SQLite database"},
		{"few bytes", func(t *testing.T, path string) { write(t, path, []byte("hello")) }, "not an SQLite database"},
		{"a truncated file", func(t *testing.T, path string) {
			seed(t, path)
			if err := os.Truncate(path, 3*4096); err != nil {
				t.Fatal(err)
			}
		}, "corrupt"},
		{"a file cut within a page", func(t *testing.T, path string) {
			seed(t, path)
			if err := os.Truncate(path, 5*4096+17); err != nil {
				t.Fatal(err)
			}
		}, "corrupt"},
		{"a schema overwritten", func(t *testing.T, path string) {
			seed(t, path)
			overwrite(t, path, 100, bytes.Repeat([]byte{0xee}, 4096-100))
		}, "corrupt"},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "cannot be opened for writing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "marquee.db")
			c.prepare(t, path)
			before, _ := os.ReadFile(path) // nil for a folder
			s, err := Open(t.Context(), Options{Path: path})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			notUsableError(t, err, c.want, path)
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Errorf("the file has changed: %d bytes, %d before", len(after), len(before))
			}
			// The lock was released: the reason stays the same.
			_, err = Open(t.Context(), Options{Path: path})
			notUsableError(t, err, c.want, path)
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func notUsableError(t *testing.T, err error, want ...string) {
	t.Helper()
	if code, ok := store.CodeOf(err); !ok || code != store.CodeNotUsable {
		t.Fatalf("error %v has code %d", err, code)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestOpenWhereNothingCanBeWritten(t *testing.T) {
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, []byte("content"))
		_, err := Open(t.Context(), Options{Path: filepath.Join(file, "marquee.db")})
		notUsableError(t, err, "its folder cannot be created")
	})
	t.Run("a read-only folder", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write everywhere")
		}
		folder := t.TempDir()
		if err := os.Chmod(folder, 0o500); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Path: filepath.Join(folder, "marquee.db")})
		notUsableError(t, err, "folder is writable")
	})
	t.Run("a read-only file", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root may write everywhere")
		}
		path := filepath.Join(t.TempDir(), "marquee.db")
		seed(t, path)
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), Options{Path: path})
		notUsableError(t, err, "writable")
	})
}

// TestOpenTwice checks that a second process cannot open the store, because
// counts and revisions are kept in memory. A second Open locks as another
// process does.
func TestOpenTwice(t *testing.T) {
	s := openTest(t, Options{})
	_, err := Open(t.Context(), Options{Path: s.options.Path})
	notUsableError(t, err, "another process has it open")
	ensureThings(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	openTest(t, Options{Path: s.options.Path})
}

// TestFileModes checks that other users cannot read the files.
func TestFileModes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "deep")
	s := openTest(t, Options{Path: filepath.Join(folder, "marquee.db")})
	ensureThings(t, s)
	files, err := os.ReadDir(folder)
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", file.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: mode %v, %v", info.Mode(), err)
	}
}

// TestCorruptPages checks that a corrupt page is reported when it is read, and
// that others stay readable.
func TestCorruptPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.db")
	seed(t, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openTest(t, Options{Path: path})
	var root int64 // of the records
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) (err error) {
		root, err = snapshot.(*view).conn.number("SELECT rootpage FROM sqlite_master WHERE name='r_things'")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, (root-1)*4096, bytes.Repeat([]byte{0xee}, 4096))
	s = openTest(t, Options{Path: path})
	q := query.Query{Collection: "things", Network: "n", Order: query.Order{Field: query.Field{System: query.ID}}, Limit: 1000}
	for name, use := range map[string]func(context.Context) error{
		"find": func(ctx context.Context) error {
			return s.Read(ctx, func(snapshot store.Snapshot) error {
				return snapshot.Find(ctx, q, func(*store.Record) error { return nil })
			})
		},
		"put": func(ctx context.Context) error {
			return s.Write(ctx, func(tx store.Tx) error { return tx.Put(ctx, "things", batch(9, 1, 10)) })
		},
	} {
		err := use(t.Context())
		if code, ok := store.CodeOf(err); !ok || code != store.CodeDamaged || !strings.Contains(err.Error(), "corrupt: restore it from a backup") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if code, _ := store.CodeOf(s.Check(t.Context())); code != store.CodeDamaged {
		t.Errorf("the check says %v", s.Check(t.Context()))
	}
	if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
		n, err := snapshot.Count(t.Context(), q) // from an index, which is intact
		if n != 300 {
			t.Errorf("counted %d", n)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if now, err := os.Stat(path); err != nil || now.Size() != info.Size() {
		t.Errorf("the file has %d bytes, %d before: %v", now.Size(), info.Size(), err)
	}
}

// TestOpenLeavesNothing: a store that cannot be opened leaves no lock, no folder and no file that
// was made for it, and removes nothing that was there.
func TestOpenLeavesNothing(t *testing.T) {
	folder := t.TempDir()
	kept := filepath.Join(folder, "kept")
	write(t, kept, nil)
	letter := filepath.Join(folder, "letter")
	write(t, letter, []byte(strings.Repeat("a letter ", 1000)))
	ended, end := context.WithCancel(t.Context())
	end()
	for name, open := range map[string]func() error{
		"no database": func() error {
			_, err := Open(t.Context(), Options{Path: letter})
			return err
		},
		"a new store": func() error {
			_, err := Open(ended, Options{Path: filepath.Join(folder, "new", "deep", "marquee.db")})
			return err
		},
		"below an empty file": func() error {
			_, err := Open(t.Context(), Options{Path: filepath.Join(kept, "marquee.db")})
			return err
		},
		"a folder": func() error {
			_, err := Open(t.Context(), Options{Path: folder})
			return err
		},
		"a place": func() error {
			place, err := Reserve(filepath.Join(folder, "place", "marquee.db"))
			if err != nil {
				t.Fatal(err)
			}
			return errors.Join(errors.New("nothing is put there"), place.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := open(); err == nil {
				t.Error("no error")
			}
			var names []string
			files, err := os.ReadDir(folder)
			for _, file := range files {
				names = append(names, file.Name())
			}
			if err != nil || !slices.Equal(names, []string{"kept", "letter"}) {
				t.Errorf("the folder has %v: %v", names, err)
			}
			if _, err := os.Lstat(folder + ".lock"); !os.IsNotExist(err) {
				t.Errorf("a lock is left: %v", err)
			}
		})
	}
}

// TestShares: the files that a store keeps beside its own are no places for another store.
func TestShares(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(folder, "marquee.db")
	for _, suffix := range []string{"", "-wal", "-shm", "-journal", ".lock", ".sock", ".damaged", ".restored", ".restoring", ".restoring-wal", ".version-4"} {
		for _, other := range []string{own + suffix, filepath.Join(link, "marquee.db"+suffix), filepath.Join(folder, "x", "..", "marquee.db"+suffix)} {
			if !Shares(other, own) || !Shares(own, other) {
				t.Errorf("%s is not recognised", other)
			}
		}
	}
	for _, other := range []string{own + ".copy", own + "x", filepath.Join(folder, "other.db"), filepath.Join(folder, "x", "marquee.db-wal")} {
		if Shares(other, own) || Shares(own, other) {
			t.Errorf("%s is taken for a file of the store", other)
		}
	}
}
