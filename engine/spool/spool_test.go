package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"marquee/engine/message"
)

func write(t *testing.T, f *File, n int) error {
	t.Helper()
	_, err := io.Copy(f, io.LimitReader(strings.NewReader(strings.Repeat("0123456789", n/10+1)), int64(n)))
	return err
}

func TestFileKeepsWhatWasWritten(t *testing.T) {
	for _, n := range []int{0, 1, inMemory, inMemory + 1, 3 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			dir := t.TempDir()
			s := New(dir, 8<<20)
			f := s.Create(t.Context(), "a")
			for range 2 { // the second time after a Reset
				if err := write(t, f, n); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(f.Reader())
				if err != nil || f.Size() != int64(n) || string(got) != strings.Repeat("0123456789", n/10+1)[:n] {
					t.Fatalf("%d bytes of %d: %v", len(got), n, err)
				}
				part := make([]byte, 7)
				if n, err := f.ReadAt(part, max(f.Size()-3, 0)); n != int(min(f.Size(), 3)) || err != io.EOF {
					t.Errorf("the end: %d, %v", n, err)
				}
				onDisk := int64(n)
				if n <= inMemory {
					onDisk = 0
				}
				if s.Used() != onDisk {
					t.Errorf("%d bytes of the budget are used, want %d", s.Used(), onDisk)
				}
				if left, _ := os.ReadDir(dir); len(left) > 0 {
					t.Errorf("the file has the name %s", left[0].Name())
				}
				if err := f.Reset(); err != nil || f.Size() != 0 || s.Used() != 0 {
					t.Errorf("after a reset: %v, %d, %d", err, f.Size(), s.Used())
				}
			}
			if err := write(t, f, n); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(f.Close(), f.Close()); err != nil {
				t.Error(err)
			}
			if s.Used() != 0 || s.memory != memory || len(s.held) > 0 {
				t.Errorf("%d, %d, %v are still held", s.Used(), memory-s.memory, s.held)
			}
		})
	}
}

// Many small files at once are on the disk when memory is used up, and read the
// same.
// Files of a caller leave half of the memory to others, and take what they hold;
// those that find no room are on the disk.
func TestMemoryIsBounded(t *testing.T) {
	s := New(t.TempDir(), 64<<20)
	var files []*File
	create := func(caller, text string) *File {
		f := s.Create(t.Context(), caller)
		if _, err := fmt.Fprint(f, text); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
		return f
	}
	for range 1000 {
		create("a", "1")
	}
	if s.Used() != 0 {
		t.Errorf("files of one byte hold %d bytes on the disk", s.Used())
	}
	whole := strings.Repeat("0", inMemory)
	for range memory / inMemory {
		create("a", whole)
	}
	if s.memory < memory/2 || s.Used() == 0 {
		t.Errorf("%d bytes of memory are left to others, %d are on the disk", s.memory, s.Used())
	}
	before := s.Used()
	other := create("b", whole)
	if s.Used() != before {
		t.Error("a file of another caller is on the disk")
	}
	if got, err := io.ReadAll(other.Reader()); err != nil || string(got) != whole {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if s.memory != memory || len(s.heldInMemory) > 0 || s.Used() != 0 {
		t.Errorf("%d bytes of memory, %v and %d on the disk are still held", memory-s.memory, s.heldInMemory, s.Used())
	}
}

func TestBudgetLeavesRoomForOthers(t *testing.T) {
	s := New(t.TempDir(), 6<<20)
	first, second, third := s.Create(t.Context(), "a"), s.Create(t.Context(), "a"), s.Create(t.Context(), "b")
	for _, f := range []*File{first, second, third} {
		defer f.Close()
	}
	if err := write(t, first, 2<<20); err != nil {
		t.Fatal(err)
	}
	err := write(t, second, 2<<20) // a would hold 4 MiB of 6
	var full *message.Error
	if !message.SpoolFull.Is(err) || !errors.As(err, &full) || full.RetryAfter <= 0 || full.Kind != message.Unavailable {
		t.Fatalf("%v", err)
	}
	if err := write(t, third, 3<<19); err != nil {
		t.Errorf("another caller finds no room: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := write(t, second, 1<<20); err != nil {
		t.Errorf("after a file was closed: %v", err)
	}
}

// The budget is exact when many files are written and closed at once.
func TestBudgetTakenAtOnce(t *testing.T) {
	s := New(t.TempDir(), 4<<20)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				f := s.Create(t.Context(), fmt.Sprint(i%3))
				if err := write(t, f, 1<<20); err != nil && !message.SpoolFull.Is(err) {
					t.Error(err)
				}
				if used := s.Used(); used > 4<<20 {
					t.Errorf("%d bytes are used", used)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if s.Used() != 0 || s.memory != memory || len(s.held) > 0 {
		t.Errorf("%d, %d, %v are still held", s.Used(), memory-s.memory, s.held)
	}
}

func TestContextEndsWrites(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := New(t.TempDir(), 1<<20).Create(ctx, "a")
	defer f.Close()
	if err := write(t, f, 10); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := write(t, f, 10); !message.DeadlineExceeded.Is(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestFolderThatIsNotThere(t *testing.T) {
	s := New(filepath.Join(t.TempDir(), "gone"), 1<<20)
	f := s.Create(t.Context(), "a")
	defer f.Close()
	if err := write(t, f, inMemory); err != nil {
		t.Errorf("a small file needs the folder: %v", err)
	}
	if err := write(t, f, 1); !message.SpoolFull.Is(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if s.Check() == nil {
		t.Error("the folder is said to be usable")
	}
}

// What a killed process left is removed, and nothing else: not even a file that
// another process has just made is lost to it.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{prefix + "123", "another", prefix + "folder/inside"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if n := New(dir, 1<<20).Sweep(); n != 2 {
		t.Errorf("%d files were removed", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "another")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, prefix+"folder", "inside")); err != nil {
		t.Error(err)
	}
	if _, err := other.Write([]byte("still there")); err != nil {
		t.Error(err)
	}
	var content bytes.Buffer
	if _, err := io.Copy(&content, io.NewSectionReader(other, 0, 100)); err != nil || content.String() != "still there" {
		t.Errorf("%q, %v", content.String(), err)
	}
}

// Of files that do not fit together, as many are completed as fit.
func TestBudgetCompletesSome(t *testing.T) {
	const all, fit = 12, 3
	s := New(t.TempDir(), 2*(fit<<20+1<<19)) // of which one caller has half
	files, started := make([]*File, all), make(chan struct{})
	for i := range files {
		files[i] = s.Receive(t.Context(), "a")
		defer files[i].Close()
		if err := write(t, files[i], inMemory+1); err != nil { // begun in this order
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	complete := make([]bool, all)
	for i, f := range files {
		wait.Go(func() {
			<-started
			for f.Size() < 1<<20 {
				if err := write(t, f, 1<<10); message.SpoolFull.Is(err) {
					if err := f.Close(); err != nil {
						t.Error(err)
					}
					return
				} else if err != nil {
					t.Error(err)
					return
				}
			}
			f.Reader()
			complete[i] = true
		})
	}
	close(started)
	wait.Wait()
	n := 0
	for _, done := range complete {
		if done {
			n++
		}
	}
	if n != fit {
		t.Errorf("%v are complete", complete)
	}
}

// A file that waits for others to be refused ends with its context.
func TestContextEndsWaiting(t *testing.T) {
	s := New(t.TempDir(), 4<<20)
	ctx, cancel := context.WithCancel(t.Context())
	older, younger := s.Receive(ctx, "a"), s.Receive(t.Context(), "a")
	for _, f := range []*File{older, younger} {
		defer f.Close()
		if err := write(t, f, 1<<20-1<<10); err != nil {
			t.Fatal(err)
		}
	}
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := write(t, older, 1<<20); !message.DeadlineExceeded.Is(err) {
		t.Errorf("%v", err)
	}
}

// Only what is received waits: other files may be written where others wait for
// them.
func TestOthersDoNotWait(t *testing.T) {
	s := New(t.TempDir(), 4<<20)
	answer, body := s.Create(t.Context(), "a"), s.Receive(t.Context(), "a")
	for _, f := range []*File{answer, body} {
		defer f.Close()
		if err := write(t, f, 1<<20-1<<10); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(t, answer, 1<<20); !message.SpoolFull.Is(err) {
		t.Errorf("%v", err)
	}
}
