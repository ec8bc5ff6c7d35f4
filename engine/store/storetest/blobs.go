package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"marquee/engine/store"
)

// bytesOf returns n random bytes, the same for the same seed.
func bytesOf(seed byte, n int) []byte {
	data := make([]byte, n)
	_, _ = stream(seed).Read(data) // never fails
	return data
}

func stream(seed byte) io.Reader { return rand.NewChaCha8([32]byte{seed}) }

// opening returns a function that opens the bytes, any number of times.
func opening(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// unopened is the reader for a put of an existing blob, which must not open it.
func (f *fixture) unopened() (io.ReadCloser, error) {
	f.Error("the reader for an existing blob was opened")
	return opening(nil)()
}

func (f *fixture) putBlob(key store.Key, data []byte) {
	f.Helper()
	f.must(f.write(func(tx store.Tx) error { return tx.PutBlob(f.ctx, key, int64(len(data)), opening(data)) }))
}

func (f *fixture) dropBlobs(keys ...store.Key) {
	f.Helper()
	f.must(f.write(func(tx store.Tx) error { return tx.DropBlobs(f.ctx, keys) }))
}

// blobRange returns a copy of a part of a blob.
func (f *fixture) blobRange(s store.Snapshot, key store.Key, offset, length int64) (data []byte, size int64, found bool) {
	f.Helper()
	size, found, err := s.Blob(f.ctx, key, offset, length, func(piece []byte) error {
		data = append(data, piece...)
		return nil
	})
	if err != nil {
		f.Errorf("reading %v: %v", key, err)
	}
	return data, size, found
}

// hasBlob checks that a blob exists with these bytes.
func (f *fixture) hasBlob(s store.Snapshot, key store.Key, want []byte) {
	f.Helper()
	data, size, found := f.blobRange(s, key, 0, math.MaxInt64)
	if !found || size != int64(len(want)) || !bytes.Equal(data, want) {
		f.Errorf("%v: found %t, of %d bytes, %d read, want %d; the same: %t", key, found, size, len(data), len(want), bytes.Equal(data, want))
	}
}

// hasNoBlob checks that a blob does not exist.
func (f *fixture) hasNoBlob(s store.Snapshot, key store.Key) {
	f.Helper()
	if data, size, found := f.blobRange(s, key, 0, math.MaxInt64); found || size != 0 || len(data) != 0 {
		f.Errorf("%v: found %t, of %d bytes, %d read, want none", key, found, size, len(data))
	}
}

// blobs returns a page of the blobs.
func (f *fixture) blobs(s store.Snapshot, after store.Key, limit int) (all []store.Blob) {
	f.Helper()
	if err := s.Blobs(f.ctx, after, limit, func(b store.Blob) error {
		all = append(all, b)
		return nil
	}); err != nil {
		f.Errorf("listing blobs after %v: %v", after, err)
	}
	return all
}

func blobKeys(blobs []store.Blob) []store.Key {
	keys := make([]store.Key, len(blobs))
	for i := range blobs {
		keys[i] = blobs[i].Key
	}
	return keys
}

// likelyPieces are sizes that stores may choose for the pieces of a blob.
var likelyPieces = []int{64 << 10, 255 << 10, 256 << 10, 1 << 20}

// testBlobs proves that blobs are stored unchanged and found.
func testBlobs(t *testing.T, h Harness) {
	t.Run("bytes of any size", func(t *testing.T) { testBlobBytes(open(t, h)) })
	t.Run("ranges", func(t *testing.T) { testBlobRanges(open(t, h)) })
	t.Run("any key", func(t *testing.T) { testBlobKeys(open(t, h)) })
	t.Run("similar keys", func(t *testing.T) { testBlobsAlike(open(t, h)) })
	t.Run("pages", func(t *testing.T) { testBlobPages(open(t, h)) })
	t.Run("put again", func(t *testing.T) { testBlobAgain(open(t, h)) })
	t.Run("own writes", func(t *testing.T) { testBlobOwnWrites(open(t, h)) })
	t.Run("snapshots", func(t *testing.T) { testBlobSnapshots(open(t, h)) })
}

// testBlobBytes reads blobs of many sizes within the transaction, after it, and
// after the store was reopened.
func testBlobBytes(f *fixture) {
	sizes := []int{0, 1, 5<<20 + 17}
	for _, n := range likelyPieces {
		sizes = append(sizes, n-1, n, n+1, 2*n)
	}
	for i, n := range sizes {
		data, k := bytesOf(byte(i), n), key(fmt.Sprintf("%d-%d", i, n))
		f.must(f.write(func(tx store.Tx) error {
			if err := tx.PutBlob(f.ctx, k, int64(n), opening(data)); err != nil {
				return err
			}
			f.hasBlob(tx, k, data)
			return nil
		}))
		f.read(func(s store.Snapshot) { f.hasBlob(s, k, data) })
	}
	if f.h.Reopen != nil {
		f.reopen()
	}
	f.read(func(s store.Snapshot) {
		for i, n := range sizes {
			f.hasBlob(s, key(fmt.Sprintf("%d-%d", i, n)), bytesOf(byte(i), n))
		}
		same(f, "how many", len(f.blobs(s, store.Key{}, everything)), len(sizes))
	})
}

func testBlobRanges(f *fixture) {
	data, blob := bytesOf(1, 2<<20+1234), key("blob")
	f.putBlob(blob, data)
	f.putBlob(key("empty"), nil)
	offsets := []int64{0, 1, int64(len(data)) - 1, int64(len(data)), int64(len(data)) + 1, math.MaxInt64}
	for _, n := range likelyPieces {
		offsets = append(offsets, int64(n)-1, int64(n), int64(n)+1, 2*int64(n)-1, 2*int64(n))
	}
	random := rand.New(rand.NewChaCha8([32]byte{2}))
	f.read(func(s store.Snapshot) {
		for _, offset := range offsets {
			for _, length := range []int64{0, 1, 2, 256 << 10, 256<<10 + 1, random.Int64N(int64(len(data))), int64(len(data)), math.MaxInt64} {
				from := min(offset, int64(len(data)))
				want := data[from : from+min(length, int64(len(data))-from)]
				if got, size, found := f.blobRange(s, blob, offset, length); !found || size != int64(len(data)) || !bytes.Equal(got, want) {
					f.Errorf("%d bytes from %d on: got %d, of %d, found %t", length, offset, len(got), size, found)
				}
				if got, size, found := f.blobRange(s, key("empty"), offset, length); !found || size != 0 || len(got) != 0 {
					f.Errorf("of an empty blob, %d bytes from %d on: got %d, of %d, found %t", length, offset, len(got), size, found)
				}
			}
		}
		own := errors.New("enough")
		if _, _, err := s.Blob(f.ctx, blob, 0, math.MaxInt64, func([]byte) error { return own }); err != own {
			f.Errorf("the error of yield was returned as %v", err)
		}
		f.hasBlob(s, blob, data)
	})
}

// testBlobKeys proves that a blob is found and dropped by its key alone,
// whatever characters the key has.
func testBlobKeys(f *fixture) {
	var keys []store.Key
	for _, network := range []string{"", net, "n2", "n-1", "n/1", "n1/a", "é"} {
		for _, id := range append([]string{"a/b", "b", "1/a/b", "/", ":", "a:b", "x"}, oddIDs...) {
			keys = append(keys, store.Key{Network: network, ID: id})
		}
	}
	data := func(k store.Key) []byte { return fmt.Appendf(nil, "%q in %q", k.ID, k.Network) }
	f.must(f.write(func(tx store.Tx) error {
		for _, k := range keys {
			if err := tx.PutBlob(f.ctx, k, int64(len(data(k))), opening(data(k))); err != nil {
				return err
			}
		}
		return nil
	}))
	slices.SortFunc(keys, func(a, b store.Key) int { return cmp.Or(cmp.Compare(a.Network, b.Network), cmp.Compare(a.ID, b.ID)) })
	f.read(func(s store.Snapshot) {
		for _, k := range keys {
			f.hasBlob(s, k, data(k))
		}
		same(f, "in order", blobKeys(f.blobs(s, store.Key{}, everything)), keys)
	})
	var dropped, kept []store.Key
	for i, k := range keys {
		if i%3 == 0 {
			dropped = append(dropped, k)
		} else {
			kept = append(kept, k)
		}
	}
	f.dropBlobs(dropped...)
	f.dropBlobs(append(dropped, key("never there"))...)
	f.dropBlobs()
	f.read(func(s store.Snapshot) {
		for _, k := range dropped {
			f.hasNoBlob(s, k)
		}
		for _, k := range kept {
			f.hasBlob(s, k, data(k))
		}
		same(f, "the other blobs", blobKeys(f.blobs(s, store.Key{}, everything)), kept)
	})
}

// testBlobsAlike proves that blobs of several pieces do not mix, although their
// ids resemble those that a store may give to pieces of another.
func testBlobsAlike(f *fixture) {
	var ids []string
	for _, separator := range []string{"#", "/", ":", "-", "_", ".", " ", ""} {
		for _, piece := range []string{"", "0", "00000000", "00000001"} {
			ids = append(ids, "a"+separator+piece)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	data := func(id string) []byte { return bytes.Repeat([]byte(id+","), (600<<10)/(len(id)+1)) }
	for _, id := range ids {
		f.putBlob(key(id), data(id))
	}
	for _, id := range ids {
		f.read(func(s store.Snapshot) { f.hasBlob(s, key(id), data(id)) })
	}
	for i, id := range ids {
		f.dropBlobs(key(id))
		f.read(func(s store.Snapshot) {
			f.hasNoBlob(s, key(id))
			for _, later := range ids[i+1:] {
				if got, size, _ := f.blobRange(s, key(later), 500<<10, 10); !bytes.Equal(got, data(later)[500<<10:500<<10+10]) {
					f.Errorf("without %q, %q has %d bytes, and %q among them", id, later, size, got)
				}
			}
		})
	}
}

func testBlobPages(f *fixture) {
	const n = 7
	var want []store.Key
	before := time.Now().Add(-time.Minute) // the store's clock may differ
	for i := range n {
		k := store.Key{Network: fmt.Sprintf("n%d", i/3), ID: fmt.Sprintf("id-%d", i)}
		want = append(want, k)
		f.putBlob(k, bytesOf(byte(i), i))
	}
	f.read(func(s store.Snapshot) {
		var all []store.Blob
		for page := f.blobs(s, store.Key{}, 2); len(page) > 0 && len(all) < 2*n; page = f.blobs(s, page[len(page)-1].Key, 2) {
			all = append(all, page...)
		}
		same(f, "the pages", blobKeys(all), want)
		for i, b := range all {
			if b.Size != int64(i) || b.Time.Before(before) || b.Time.After(time.Now().Add(time.Minute)) {
				f.Errorf("blob %d is %+v", i, b)
			}
		}
		same(f, "after a missing key", blobKeys(f.blobs(s, store.Key{Network: "n1", ID: "id-4+"}, 1)), want[5:6])
		same(f, "after the last", len(f.blobs(s, want[n-1], 2)), 0)
		same(f, "with limit 0", len(f.blobs(s, store.Key{}, 0)), 0)
		own := errors.New("enough")
		if err := s.Blobs(f.ctx, store.Key{}, 2, func(store.Blob) error { return own }); err != own {
			f.Errorf("the error of yield was returned as %v", err)
		}
	})
}

// testBlobAgain proves that a put of an existing blob keeps its bytes and
// updates its time.
func testBlobAgain(f *fixture) {
	data, blob := bytesOf(1, 300<<10), key("blob")
	f.putBlob(blob, data)
	var first, last store.Blob
	f.read(func(s store.Snapshot) { first = f.blobs(s, store.Key{}, 1)[0] })
	// Repeat until the store's clock has advanced.
	for deadline := time.Now().Add(10 * time.Second); !last.Time.After(first.Time) && time.Now().Before(deadline); {
		f.must(f.write(func(tx store.Tx) error { return tx.PutBlob(f.ctx, blob, 7, f.unopened) }))
		f.read(func(s store.Snapshot) { last = f.blobs(s, store.Key{}, 1)[0] })
	}
	if !last.Time.After(first.Time) {
		f.Errorf("first put at %v, last at %v", first.Time, last.Time)
	}
	same(f, "the size", last.Size, len(data))
	f.read(func(s store.Snapshot) {
		f.hasBlob(s, blob, data)
		same(f, "how many", len(f.blobs(s, store.Key{}, everything)), 1)
	})
}

// testBlobOwnWrites proves that a transaction sees the blobs that it put and
// dropped, and others do not before the commit.
func testBlobOwnWrites(f *fixture) {
	old, data, other := key("old"), key("new"), bytesOf(2, 400<<10)
	f.putBlob(old, bytesOf(1, 10))
	f.must(f.write(func(tx store.Tx) error {
		if err := tx.PutBlob(f.ctx, data, 3, opening([]byte("one"))); err != nil {
			return err
		}
		if err := tx.PutBlob(f.ctx, data, 3, f.unopened); err != nil {
			return err
		}
		f.hasBlob(tx, data, []byte("one"))
		if err := tx.DropBlobs(f.ctx, []store.Key{data, old, data}); err != nil {
			return err
		}
		f.hasNoBlob(tx, data)
		f.hasNoBlob(tx, old)
		same(f, "listed after the drop", len(f.blobs(tx, store.Key{}, everything)), 0)
		if err := tx.PutBlob(f.ctx, data, int64(len(other)), opening(other)); err != nil {
			return err
		}
		f.hasBlob(tx, data, other)
		same(f, "listed after the put", blobKeys(f.blobs(tx, store.Key{}, everything)), []store.Key{data})
		return f.s.Read(f.ctx, func(s store.Snapshot) error {
			f.hasNoBlob(s, data)
			f.hasBlob(s, old, bytesOf(1, 10))
			same(f, "listed by another", blobKeys(f.blobs(s, store.Key{}, everything)), []store.Key{old})
			return nil
		})
	}))
	f.read(func(s store.Snapshot) {
		f.hasBlob(s, data, other)
		f.hasNoBlob(s, old)
	})
}

// testBlobSnapshots proves that a blob of a snapshot can be read to its end,
// although others drop it or replace it.
func testBlobSnapshots(f *fixture) {
	data, blob := bytesOf(1, 1<<20), key("blob")
	for name, first := range map[string]func(*fixture, store.Snapshot){
		"Blob first":  func(f *fixture, s store.Snapshot) { f.blobRange(s, key("another"), 0, 1) },
		"Blobs first": func(f *fixture, s store.Snapshot) { f.blobs(s, key("zzz"), 1) },
		"Get first":   func(f *fixture, s store.Snapshot) { f.records(s, things, key("a")) },
	} {
		f.run(name, func(f *fixture) {
			f.dropBlobs(blob)
			f.putBlob(blob, data)
			f.read(func(s store.Snapshot) {
				first(f, s)
				f.dropBlobs(blob)
				f.putBlob(key("later"), nil)
				f.hasBlob(s, blob, data)
				f.putBlob(blob, []byte("others"))
				f.hasBlob(s, blob, data)
				got, _, _ := f.blobRange(s, blob, 1<<19-1, 3)
				same(f, "in the middle", got, data[1<<19-1:1<<19+2])
				f.hasNoBlob(s, key("later"))
				same(f, "listed", blobKeys(f.blobs(s, store.Key{}, everything)), []store.Key{blob})
			})
			f.read(func(s store.Snapshot) { f.hasBlob(s, blob, []byte("others")) })
			f.dropBlobs(key("later"))
		})
	}
}
