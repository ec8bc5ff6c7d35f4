package seal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/engine/catalog"
)

func TestSealerRotates(t *testing.T) {
	first, second := bytes.Repeat([]byte{1}, KeyBytes), bytes.Repeat([]byte{2}, KeyBytes)
	s, err := New(first)
	if err != nil {
		t.Fatal(err)
	}
	open := func(s *Sealer, sealed, place, want string, wantErr error) {
		t.Helper()
		if plain, err := s.Open(sealed, place); plain != want || wantErr != nil && !errors.Is(err, wantErr) || (err != nil) != (want == "") {
			t.Errorf("%q, %v", plain, err)
		}
	}
	old, _ := s.Seal("secret", "place")
	if s.Rotates() || s.Outdated([]byte(old)) || !s.Holds([]byte(old)) {
		t.Error("one key rotates")
	}
	if err := s.Use(second); err != nil {
		t.Fatal(err)
	}
	fresh, _ := s.Seal("secret", "place")
	if !s.Rotates() || !s.Outdated([]byte(old)) || s.Outdated([]byte(fresh)) || !s.Holds([]byte(old)) || !s.Holds([]byte(fresh)) {
		t.Error("an outdated value is not distinguished from a current one")
	}
	open(s, old, "place", "secret", nil)
	open(s, fresh, "place", "secret", nil)
	open(s, old, "elsewhere", "", catalog.ErrNotSealed)
	both, _ := New(first, second)
	open(both, fresh, "place", "secret", nil)
	if sealed, _ := both.Seal("secret", "place"); both.Outdated([]byte(sealed)) {
		t.Error("the first key does not encrypt")
	}
	alone, _ := New(first)
	if _, err := alone.Open(fresh, "place"); err == nil || errors.Is(err, catalog.ErrNotSealed) {
		t.Errorf("another key: %v", err)
	}
	if _, err := New(); err == nil {
		t.Error("a sealer without keys")
	}
}

// A rotation that is interrupted between its steps leaves files with which everything
// can be decrypted.
func TestKeyFilesAreRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.key")
	for range 2 { // the second time, it exists
		if err := CreateKeyFile(path); err != nil {
			t.Fatal(err)
		}
	}
	want := func(n int) [][]byte {
		t.Helper()
		keys, err := ReadKeyFiles(path)
		if err != nil || len(keys) != n {
			t.Fatalf("%d keys instead of %d, %v", len(keys), n, err)
		}
		return keys
	}
	first := want(1)[0]
	for n := 2; n < 4; n++ {
		before := want(n - 1)
		if err := RotateKeyFile(path); err != nil {
			t.Fatal(err)
		}
		keys := want(n)
		if bytes.Equal(keys[0], before[0]) || !bytes.Equal(keys[1], before[0]) || !bytes.Equal(keys[n-1], first) {
			t.Errorf("%x after %x", keys, before)
		}
	}
	for _, name := range []string{path, RetiredKeys(path)} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	write := func(path string, text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The retired key was written, and the new one was not.
	current, _ := os.ReadFile(path)
	if err := RotateKeyFile(path); err != nil {
		t.Fatal(err)
	}
	write(path, current)
	want(3)
	// A key that was never that of the store encrypts nothing, unless both are in the file.
	other := encode(newSecret())
	write(path, other)
	if _, err := ReadKeyFiles(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "put the right key back") {
		t.Errorf("another key: %v", err)
	}
	write(path, append(other, current...))
	want(4)
	// A file of version 1.0.0 does not say which key replaced its own.
	write(RetiredKeys(path), current)
	write(path, other)
	want(2)
	if err := os.WriteFile(RetiredKeys(path), []byte("c2hvcnQ=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKeyFiles(path); err == nil || strings.Contains(err.Error(), "c2hvcnQ") {
		t.Errorf("an invalid key: %v", err)
	}
}
