package folder_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"marquee/engine/folder"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// patience bounds the wait for a notification of the file system.
const patience = 20 * time.Second

func TestOpen(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "notes.json")
	write(t, file, "{}")
	if _, err := folder.Open(filepath.Join(base, "missing")); !errors.Is(err, folder.ErrNotFound) {
		t.Errorf("a missing folder: %v", err)
	}
	if _, err := folder.Open(file); err == nil || errors.Is(err, folder.ErrNotFound) {
		t.Errorf("a file: %v", err)
	}
}

// TestOpenStaysInside: nothing outside of the folder can be read through it.
func TestOpenStaysInside(t *testing.T) {
	base := t.TempDir()
	schemas := filepath.Join(base, "schemas")
	write(t, filepath.Join(base, "secret.json"), "{}")
	write(t, filepath.Join(schemas, "notes.json"), "{}")
	if err := os.Symlink("../secret.json", filepath.Join(schemas, "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("notes.json", filepath.Join(schemas, "inside.json")); err != nil {
		t.Fatal(err)
	}
	f := open(t, schemas)
	for name, readable := range map[string]bool{"notes.json": true, "inside.json": true, "link.json": false, "../secret.json": false, "/etc/hostname": false} {
		if _, err := fs.ReadFile(f, name); (err == nil) != readable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnread: only the folder itself and its folder common are read.
func TestUnread(t *testing.T) {
	schemas := t.TempDir()
	for _, name := range []string{"notes.json", "common/money.json", "old/notes.json", "pictures/a.png", ".git/config.json"} {
		write(t, filepath.Join(schemas, filepath.FromSlash(name)), "{}")
	}
	if got := open(t, schemas).Unread(); !slices.Equal(got, []string{"old"}) {
		t.Errorf("unread are %q", got)
	}
}

// TestAccepted: the set that was read last is kept in the store, and is the same set
// when it comes back.
func TestAccepted(t *testing.T) {
	own, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "marquee.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := own.EnsureCollections(t.Context(), []store.Collection{folder.Collection}); err != nil {
		t.Fatal(err)
	}
	if set, _, err := folder.Packed(t.Context(), own, 0); set != nil || err != nil {
		t.Fatalf("an empty store has the set %v, %v", set, err)
	}
	schemas, register := t.TempDir(), folder.NewRegister(own, "a")
	write(t, filepath.Join(schemas, "common", "money.json"), `{"money": 1}`)
	for _, notes := range []string{`{"first": 1}`, `{"second": 2}`} {
		write(t, filepath.Join(schemas, "notes.json"), notes)
		record := folder.Record(open(t, schemas))
		for _, name := range []string{"notes.json", "common/money.json"} {
			if _, err := fs.ReadFile(record, name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := register.Keep(t.Context(), notes, record); err != nil {
			t.Fatal(err)
		}
		packed, accepted, err := folder.Packed(t.Context(), own, 0)
		if err != nil {
			t.Fatal(err)
		}
		set, err := folder.Unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"notes.json": notes, "common/money.json": `{"money": 1}`} {
			if got, err := fs.ReadFile(set, name); string(got) != want || err != nil {
				t.Errorf("%s is %q, want %q: %v", name, got, want, err)
			}
		}
		// The same set again is the same one.
		if _, err := register.Keep(t.Context(), notes, record); err != nil {
			t.Fatal(err)
		}
		if _, again, err := folder.Packed(t.Context(), own, 0); !again.Equal(accepted) || err != nil {
			t.Errorf("accepted at %s and %s: %v", accepted, again, err)
		}
	}
}

// TestFollow: a change of the folder is noticed wherever it happens, once the folder
// is quiet.
func TestFollow(t *testing.T) {
	base := t.TempDir()
	schemas := filepath.Join(base, "current")
	write(t, filepath.Join(base, "one", "common", "money.json"), "{}")
	write(t, filepath.Join(base, "two", "notes.json"), "{}")
	if err := os.Symlink("one", schemas); err != nil {
		t.Fatal(err)
	}
	w, err := folder.Watch(schemas, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	changed, hangups, ended := make(chan bool), make(chan os.Signal), make(chan bool)
	var again atomic.Bool
	go func() {
		defer close(ended)
		w.Follow(ctx, hangups, false, func(bool) bool {
			select {
			case changed <- true:
			case <-ctx.Done():
			}
			return again.Load()
		})
	}()
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"a new file", func() { write(t, filepath.Join(base, "one", "notes.json"), "{}") }},
		{"a shared definition", func() { write(t, filepath.Join(base, "one", "common", "money.json"), `{"a": 1}`) }},
		{"another folder behind the link", func() {
			if err := os.Symlink("two", schemas+".new"); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(schemas+".new", schemas); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file in that folder", func() { write(t, filepath.Join(base, "two", "notes.json"), `{"a": 1}`) }},
		{"a signal", func() { hangups <- os.Interrupt }},
		{"a set that could not be served is tried again", func() { again.Store(true); hangups <- os.Interrupt; await(t, "the first try", changed) }},
	} {
		step.do()
		await(t, step.name, changed)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("Follow has not returned")
	}
}

func await(t *testing.T, name string, changed <-chan bool) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal(name + ": not noticed")
	}
}

func open(t *testing.T, path string) folder.Folder {
	t.Helper()
	f, err := folder.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestChangedWhileRead: a recorder notices that a file which was read has been exchanged or
// removed, and the set has what was read.
func TestChangedWhileRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.json")
	write := func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"a": 1}`)
	opened, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	set := folder.Record(opened)
	if text, err := fs.ReadFile(set, "a.json"); err != nil || string(text) != `{"a": 1}` || set.Changed() != "" {
		t.Errorf("%s, %v, changed: %q", text, err, set.Changed())
	}
	write(`{"a": 2}`)
	if changed := set.Changed(); changed != "a.json" {
		t.Errorf("after the exchange, %q has changed", changed)
	}
	if err := os.Remove(file); err != nil || set.Changed() != "a.json" {
		t.Errorf("after the removal, %q has changed: %v", set.Changed(), err)
	}
}
