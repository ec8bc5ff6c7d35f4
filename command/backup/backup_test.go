package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPruneAfterWrongClock: the backup that was just made remains, even beside backups with
// times in the future.
func TestPruneAfterWrongClock(t *testing.T) {
	folder := t.TempDir()
	at := func(year int) string {
		return filepath.Join(folder, fmt.Sprintf("marquee-%d0101T000000.000Z.db", year))
	}
	for _, year := range []int{2025, 2026, 2098, 2099} {
		write(t, at(year), "content")
		write(t, descriptionPath(at(year)), `{"store": "/marquee.db", "sha256": "x"}`)
	}
	removed, err := prune(at(2026), "marquee", "/marquee.db", 2)
	if err != nil || !slices.Equal(removed, []string{at(2098), at(2025)}) || !exists(at(2026)) || !exists(at(2099)) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// TestEmptyTarget: an empty file without a description can be the lock of a store, and is not
// replaced.
func TestEmptyTarget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marquee.db.lock")
	write(t, path, "")
	if err := replaceable(path, path+".partial"); err == nil {
		t.Error("the lock of a store can be replaced")
	}
}

// TestRestoreFilesOnly: devices and folders are refused before anything is read or written.
func TestRestoreFilesOnly(t *testing.T) {
	folder := t.TempDir()
	good, described := filepath.Join(folder, "good.db"), filepath.Join(folder, "described.db")
	write(t, good, "content")
	write(t, described, "content")
	if err := os.Mkdir(descriptionPath(described), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Restoration{
		{Backup: os.DevNull, File: filepath.Join(folder, "marquee.db")},
		{Backup: folder, File: filepath.Join(folder, "marquee.db")},
		{Backup: good, File: folder},
		{Backup: described, File: filepath.Join(folder, "marquee.db")},
	} {
		if err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not a file") {
			t.Errorf("%s to %s: %v", r.Backup, r.File, err)
		}
	}
}
