package sqlite

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// faultyDisk is a file system of SQLite whose operations fail on demand, and which loses
// what it has not made durable when its power is cut. As on Linux, what a failed fsync
// did not make durable stays visible, and the next fsync does not try it again.
type faultyDisk struct {
	vfs.VFSFilename
	name, folder string

	mu     sync.Mutex
	random *rand.Rand
	fails  fault
	after  int // the number of operations that succeed before
	files  map[string]*durableFile
	// chances are the next choices of some, which are random otherwise.
	chances []int
}

// fault is what fails at present.
type fault int

const (
	nothing fault = iota
	fsync
	writing
	full
	readOnly
)

// durableFile is what is on the disk of a file.
type durableFile struct {
	content []byte
	// dirty are the pages to write at the next fsync.
	dirty map[int64]bool
	// deleted files come back after a power cut, unless an fsync has followed.
	deleted bool
}

const diskPage = 4096

func newDisk(t *testing.T, seed uint64) *faultyDisk {
	d := &faultyDisk{VFSFilename: vfs.Find("").(vfs.VFSFilename), name: fmt.Sprintf("disk-%p", t), folder: t.TempDir(),
		random: rand.New(rand.NewPCG(seed, 1)), files: map[string]*durableFile{}}
	vfs.Register(d.name, d)
	t.Cleanup(func() { vfs.Unregister(d.name) })
	return d
}

func (d *faultyDisk) options() Options {
	return Options{Path: filepath.Join(d.folder, "marquee.db"), Readers: 1, vfs: d.name}
}

// fail makes operations fail, after some have succeeded.
func (d *faultyDisk) fail(f fault, after int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails, d.after = f, after
}

// try returns the error of an operation that at present fails with one of the faults.
func (d *faultyDisk) try(name string, faults ...fault) error {
	if !strings.HasPrefix(name, d.folder) {
		return nil // a temporary file
	}
	for _, f := range faults {
		switch {
		case f != d.fails:
		case d.after > 0:
			d.after--
		case f == full:
			return &fs.PathError{Op: "write", Path: name, Err: syscall.ENOSPC} // as os.File.WriteAt does
		case f == readOnly:
			return syscall.EROFS
		default:
			return syscall.EIO
		}
	}
	return nil
}

func (d *faultyDisk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := d.VFSFilename.OpenFilename(name, flags)
	if err != nil {
		return nil, out, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	path := name.String()
	if file := d.files[path]; file == nil || file.deleted {
		d.files[path] = &durableFile{dirty: map[int64]bool{}}
	}
	return &diskFile{File: f, d: d, path: path}, out, nil
}

func (d *faultyDisk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.try(name, readOnly); err != nil {
		return err
	}
	if file := d.files[name]; file != nil {
		file.deleted = true
	}
	return d.VFSFilename.Delete(name, syncDir)
}

// diskFile is an open file.
type diskFile struct {
	vfs.File
	d    *faultyDisk
	path string
}

func (f *diskFile) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	err = f.d.try(f.path, writing, readOnly)
	if at+int64(len(p)) > size && err == nil {
		err = f.d.try(f.path, full)
	}
	switch {
	case err == syscall.EIO: // when some of it has been written, or all
		p = p[:f.d.random.IntN(3)*len(p)/2]
	case err != nil:
		return 0, err
	}
	n, failed := f.File.WriteAt(p, at)
	f.touch(at, at+int64(n))
	if err == nil {
		err = failed
	}
	return n, err
}

func (f *diskFile) touch(from, to int64) {
	for page := from / diskPage; page*diskPage < to; page++ {
		f.d.files[f.path].dirty[page] = true
	}
}

func (f *diskFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if err := f.d.try(f.path, writing, readOnly); err != nil {
		return err
	}
	was, err := f.Size()
	if err == nil {
		err = f.File.Truncate(size)
	}
	f.touch(min(was, size), max(was, size))
	return err
}

func (f *diskFile) Sync(vfs.SyncFlag) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	file := f.d.files[f.path]
	seen, err := os.ReadFile(f.path)
	if os.IsNotExist(err) { // it was deleted
		return nil
	} else if err != nil {
		return err
	}
	err = f.d.try(f.path, fsync)
	some := f.d.some()
	file.content = mix(seen, file.content, func(page int64) bool { return file.dirty[page] && (err == nil || some()) })
	clear(file.dirty)
	if err == nil {
		maps.DeleteFunc(f.d.files, func(_ string, file *durableFile) bool { return file.deleted })
	}
	return err
}

// some returns a function that chooses none (0), some (1), or all (2).
func (d *faultyDisk) some() func() bool {
	chance := d.random.IntN(3)
	if len(d.chances) > 0 {
		chance, d.chances = d.chances[0], d.chances[1:]
	}
	return func() bool { return d.random.IntN(2) < chance }
}

// mix returns a file of those pages of what was seen that are chosen, and others of what
// was durable. A file that was to become shorter does so if its last page is chosen.
func mix(seen, durable []byte, choose func(page int64) bool) []byte {
	var mixed []byte
	for page := int64(0); page*diskPage < int64(max(len(seen), len(durable))); page++ {
		from := durable
		if choose(page) {
			from = seen
		}
		if begin := page * diskPage; begin < int64(len(from)) {
			mixed = append(mixed, make([]byte, max(0, begin-int64(len(mixed))))...)
			mixed = append(mixed, from[begin:min(begin+diskPage, int64(len(from)))]...)
		}
	}
	return mixed
}

// cut kills the process that uses the disk, or cuts the power, and returns the disk as
// it is afterwards. After a power cut, each page that is not durable may be on it.
func (d *faultyDisk) cut(t *testing.T, power bool) *faultyDisk {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newDisk(t, d.random.Uint64())
	for path, file := range d.files {
		seen, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		content := seen
		switch {
		case power && file.deleted && d.random.IntN(2) == 0:
			continue
		case power:
			some := d.some()
			content = mix(seen, file.content, func(int64) bool { return some() })
		case err != nil:
			continue
		}
		path = filepath.Join(after.folder, filepath.Base(path))
		write(t, path, content)
		after.files[path] = &durableFile{content: bytes.Clone(content), dirty: map[int64]bool{}}
	}
	return after
}
