// Package spool stores request bodies, uploads and responses that are too large
// for memory in temporary files, which share a budget of bytes and leave space on
// their disk. It imports only engine/disk and engine/message. Begin reading with Spool and File.
package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"marquee/engine/disk"
	"marquee/engine/message"
)

const (
	// MaxDefaultBudget is the default budget if the disk is large enough.
	MaxDefaultBudget = 2 << 30
	// maxInMemory is the maximum default budget if the folder is in a file system
	// in memory.
	maxInMemory = 256 << 20
	// maxReserve is the number of bytes of the disk that are left free, reservePart
	// the part of a small disk.
	maxReserve  = 256 << 20
	reservePart = 16
	// inMemory is the maximum size of a file in memory, minInMemory the least
	// memory that a file takes, and memory the maximum of all files.
	inMemory    = 64 << 10
	minInMemory = 1 << 10
	memory      = 16 << 20
	// lookEvery is the number of bytes written between two checks of the disk.
	lookEvery = 1 << 20
	// retryAfter is when a client may try again after there was no room.
	retryAfter = 5 * time.Second
	// prefix is the prefix of file names. Sweep finds the files of earlier processes
	// by it.
	prefix = "marquee-spool-"
)

// Spool creates temporary files in a folder, within a budget of bytes. It is safe
// for concurrent use.
type Spool struct {
	dir    string
	budget int64

	mu   sync.Mutex
	used int64
	held map[string]int64 // bytes on the disk, by caller
	// memory is the memory that files may still take; heldInMemory is the memory of
	// the files of each caller.
	memory       int64
	heldInMemory map[string]int64
	// filling are the files on the disk that each caller is sending, the oldest
	// first. When one of them is complete or releases bytes, freed is closed and
	// replaced.
	filling map[string][]*File
	freed   chan struct{}
	// refused counts the writes for which there was no room.
	refused atomic.Int64
}

// New returns a Spool in a folder; "" is os.TempDir. All files together contain at
// most budget bytes; 0 is DefaultBudget. The folder is first accessed when a file
// does not fit in memory, so that File.Write returns the error if it is not
// writable.
func New(dir string, budget int64) *Spool {
	if dir == "" {
		dir = os.TempDir()
	}
	if budget <= 0 {
		budget = DefaultBudget(dir)
	}
	return &Spool{dir: dir, budget: budget, held: map[string]int64{}, memory: memory, heldInMemory: map[string]int64{}, filling: map[string][]*File{}, freed: make(chan struct{})}
}

// DefaultBudget returns the default budget for a folder: 2 GiB, less on a small
// disk, and at most 256 MiB if the folder is in memory.
func DefaultBudget(dir string) int64 {
	d, ok := disk.Of(dir)
	if !ok {
		return MaxDefaultBudget
	}
	budget := min(MaxDefaultBudget, d.Size-reserve(d))
	if d.InMemory {
		budget = min(budget, maxInMemory)
	}
	return max(budget, 1)
}

// Dir returns the folder of the files.
func (s *Spool) Dir() string { return s.dir }

// Budget returns the maximum size of all files together.
func (s *Spool) Budget() int64 { return s.budget }

// Used returns the current size of all files together.
func (s *Spool) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Stats are the state of a Spool.
type Stats struct {
	// Budget is the maximum size of all files on the disk together, and Used their size.
	Budget, Used int64
	// Memory is the size of the files in memory.
	Memory int64
	// Refused is the number of writes so far for which there was no room.
	Refused int64
}

// Stats returns the state of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Stats{Budget: s.budget, Used: s.used, Memory: memory - s.memory, Refused: s.refused.Load()}
}

// InMemory reports whether the folder is in a file system in memory (tmpfs), so
// that files count as memory of the machine or container.
func (s *Spool) InMemory() bool {
	d, ok := disk.Of(s.dir)
	return ok && d.InMemory
}

// Check returns an error if no file can be created at present.
func (s *Spool) Check() error {
	if err := s.room(1); err != nil {
		return err
	}
	file, unnamed, err := s.open()
	if err != nil {
		return err
	}
	_, err = file.Write([]byte{0})
	return errors.Join(err, discard(file, unnamed))
}

// Sweep removes the files that earlier processes left, and returns their number.
// Files that other processes have open are safe: they have no name or, on a system
// where open files keep their names, cannot be removed.
func (s *Spool) Sweep() int {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0
	}
	removed := 0
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), prefix) && os.Remove(filepath.Join(s.dir, entry.Name())) == nil {
			removed++
		}
	}
	return removed
}

// Create returns an empty file for a caller, which moves to the disk when it is no
// longer small. Writes fail after the context has ended.
//
// The files of a caller hold at most as much as the rest of the budget: half of it
// for a single caller, a third each for two, so that there is room for another.
func (s *Spool) Create(ctx context.Context, caller string) *File {
	return &File{spool: s, ctx: ctx, caller: caller}
}

// Receive is Create for data sent by a client. If there is no room for all files
// that a caller is sending, the newest fails and writes to the others wait, so that
// some are completed. A writer must not hold what others wait for.
func (s *Spool) Receive(ctx context.Context, caller string) *File {
	f := s.Create(ctx, caller)
	f.received = true
	return f
}

// take takes bytes from the budget for a file.
func (s *Spool) take(f *File, n int64) error {
	for {
		freed, err := s.tryTake(f, n)
		if err != nil && freed == nil {
			s.refused.Add(1)
		}
		if err == nil || freed == nil {
			return err
		}
		select {
		case <-freed:
		case <-f.ctx.Done():
			return ended(f.ctx)
		}
	}
}

// tryTake is take without waiting. With an error, it returns a channel that is
// closed when it can be tried again, or nil if the file must not wait.
func (s *Spool) tryTake(f *File, n int64) (freed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.budget - s.used - n
	switch {
	case left < 0:
		err = Full(fmt.Errorf("the temporary files hold %d of the %d bytes that they may", s.used, s.budget))
	case s.held[f.caller]+n > left:
		err = Full(fmt.Errorf("the caller's temporary files hold %d bytes, and %d of %d are left for those of others", s.held[f.caller], s.budget-s.used, s.budget))
	default:
		s.used += n
		s.held[f.caller] += n
		return nil, nil
	}
	if all := s.filling[f.caller]; f.received && len(all) > 0 && all[len(all)-1] != f {
		freed = s.freed
	}
	return freed, err
}

// give returns bytes to the budget.
func (s *Spool) give(caller string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= n
	if s.held[caller] -= n; s.held[caller] <= 0 {
		delete(s.held, caller)
	}
	s.wake()
}

// begin records that a file is being sent, and end that it is complete.
func (s *Spool) begin(f *File) {
	if !f.received {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filling[f.caller] = append(s.filling[f.caller], f)
}

func (s *Spool) end(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.filling[f.caller]
	i := slices.Index(all, f)
	if i < 0 {
		return
	}
	if s.filling[f.caller] = slices.Delete(all, i, i+1); len(all) == 1 {
		delete(s.filling, f.caller)
	}
	s.wake()
}

// wake wakes the writers that wait for room.
func (s *Spool) wake() {
	close(s.freed)
	s.freed = make(chan struct{})
}

func ended(ctx context.Context) error {
	e := message.DeadlineExceeded.Error(nil).Caused(ctx.Err())
	e.RetryAfter = time.Second
	return e
}

// takeMemory tries to take n bytes of memory for a file. A caller has at most as
// much as is left for others.
func (s *Spool) takeMemory(caller string, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heldInMemory[caller]+n > s.memory-n {
		return false
	}
	s.memory -= n
	s.heldInMemory[caller] += n
	return true
}

func (s *Spool) giveMemory(caller string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory += n
	if s.heldInMemory[caller] -= n; s.heldInMemory[caller] <= 0 {
		delete(s.heldInMemory, caller)
	}
}

// room returns an error if the disk has no room for n more bytes.
func (s *Spool) room(n int64) error {
	if d, ok := disk.Of(s.dir); ok && d.Free-n < reserve(d) {
		return fmt.Errorf("the disk of %s has %d bytes free, of which %d are kept: there is no room for %d", s.dir, d.Free, reserve(d), n)
	}
	return nil
}

// open creates a file, without a name if the system supports that, so that it does
// not outlive a process that is killed.
func (s *Spool) open() (file *os.File, unnamed bool, err error) {
	if file, err = os.CreateTemp(s.dir, prefix+"*"); err != nil {
		return nil, false, err
	}
	err = os.Remove(file.Name())
	return file, err == nil || errors.Is(err, fs.ErrNotExist), nil // swept by another process
}

func discard(file *os.File, unnamed bool) error {
	err := file.Close()
	if !unnamed {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// reserve returns the number of bytes of a disk that are left free.
func reserve(d disk.Disk) int64 { return min(maxReserve, d.Size/reservePart) }

// full counts a write for which there was no room, and returns its error.
func (s *Spool) full(cause error) error {
	s.refused.Add(1)
	return Full(cause)
}

// Full returns the error for a temporary file for which there is no room. The
// cause is for the log, and may contain the folder.
func Full(cause error) error {
	var path *fs.PathError
	if errors.As(cause, &path) { // omits the random name of the file
		cause = fmt.Errorf("a temporary file in %s: %s: %w", filepath.Dir(path.Path), path.Op, path.Err)
	}
	e := message.SpoolFull.Error(nil).Caused(cause)
	e.RetryAfter = retryAfter
	return e
}
