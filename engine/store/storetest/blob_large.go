package storetest

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"marquee/engine/store"
)

// testLargeBlob proves that a large blob passes through bounded memory.
func testLargeBlob(t *testing.T, h Harness) {
	if testing.Short() {
		t.Skip("a large blob takes some seconds")
	}
	if underRace {
		t.Skip("the race detector uses memory itself")
	}
	const size, bound = 64 << 20, 40 << 20
	f := open(t, h)
	f.putBlob(key("small"), bytesOf(1, 1<<20)) // one-time allocations
	before := resident(f)
	watch := &watcher{hash: sha256.New()}
	watch.look = func() {
		if grown := resident(f) - before; grown > watch.most {
			watch.most = grown
		}
	}
	f.must(f.s.Write(f.ctx, func(tx store.Tx) error {
		return tx.PutBlob(f.ctx, key("large"), size, func() (io.ReadCloser, error) {
			watch.hash.Reset()
			return io.NopCloser(io.TeeReader(io.LimitReader(stream(7), size), watch)), nil
		})
	}))
	watch.look()
	if watch.most > bound {
		t.Errorf("putting %d MB took %d MB of memory", size>>20, watch.most>>20)
	}
	put := watch.hash.Sum(nil)
	watch.most = 0
	f.read(func(s store.Snapshot) {
		watch.hash.Reset()
		n, _, err := s.Blob(f.ctx, key("large"), 0, size, func(piece []byte) error {
			_, _ = watch.Write(piece) // never fails
			return nil
		})
		f.must(err)
		same(f, "the size", n, size)
	})
	if watch.most > bound {
		t.Errorf("reading %d MB took %d MB of memory", size>>20, watch.most>>20)
	}
	if !bytes.Equal(put, watch.hash.Sum(nil)) {
		t.Error("the bytes read differ from those put")
	}
}

// watcher samples the memory while bytes pass.
type watcher struct {
	hash hash.Hash
	look func()
	n    int
	most int64
}

func (w *watcher) Write(p []byte) (int, error) {
	const often = 8 << 20
	if w.n += len(p); w.n >= often {
		w.n = 0
		w.look()
	}
	return w.hash.Write(p)
}

// resident returns the memory that the process needs, including memory outside
// of Go where the system reports it.
func resident(t testing.TB) int64 {
	debug.FreeOSMemory()
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return pages * int64(os.Getpagesize())
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
