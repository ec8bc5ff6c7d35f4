package spool

import (
	"errors"
	"syscall"
	"testing"

	"marquee/engine/disk"
	"marquee/engine/message"
)

// mount makes a file system of a size at a folder.
func mount(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A small disk keeps its reserve free, and its default budget fits it.
func TestDiskKeepsItsReserve(t *testing.T) {
	dir := mount(t, "size=16m")
	if budget := DefaultBudget(dir); budget != 15<<20 {
		t.Errorf("the default budget is %d", budget)
	}
	s := New(dir, 1<<30)
	if !s.InMemory() {
		t.Error("a tmpfs is said to be a disk")
	}
	f := s.Create(t.Context(), "a")
	if err := write(t, f, 100<<20); !message.SpoolFull.Is(err) {
		t.Fatalf("%v", err)
	}
	d, _ := disk.Of(dir)
	if d.Free < 1<<20 || f.Size() < 13<<20 {
		t.Errorf("%d bytes are free, %d were written", d.Free, f.Size())
	}
	if s.Check() == nil {
		t.Error("the folder is said to be usable")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if d, _ = disk.Of(dir); d.Free < 15<<20 {
		t.Errorf("after the file was closed, %d bytes are free", d.Free)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// A full disk that the check before did not see is reported by the write.
func TestFolderThatTakesNothing(t *testing.T) {
	for options, want := range map[string]error{"size=16m,nr_inodes=1": syscall.ENOSPC, "size=16m": syscall.EROFS} {
		t.Run(options, func(t *testing.T) {
			dir := mount(t, options)
			if want == syscall.EROFS {
				if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
					t.Fatal(err)
				}
			}
			f := New(dir, 1<<20).Create(t.Context(), "a")
			defer f.Close()
			if err := write(t, f, 1<<19); !message.SpoolFull.Is(err) || !errors.Is(err, want) {
				t.Errorf("%v", err)
			}
		})
	}
}
