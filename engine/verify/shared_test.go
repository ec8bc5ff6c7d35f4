package verify

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"marquee/engine/store"
)

// memoryFile is a Temporary in memory.
type memoryFile struct{ bytes.Buffer }

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(f.Bytes()).ReadAt(p, at)
}

func (f *memoryFile) Close() error { return nil }

// TestSorter compares the clashes of more values than are sorted in memory with those that a
// comparison of all values finds.
func TestSorter(t *testing.T) {
	const objects = 60_000
	file := &memoryFile{}
	s := sorter{file: file}
	random := rand.New(rand.NewPCG(1, 2))
	first := map[string]bool{}
	want := 0
	for i := range objects {
		rule, network, value := random.IntN(2), fmt.Sprint("n", random.IntN(2)), fmt.Sprint(random.IntN(objects))
		if of := fmt.Sprint(rule, network, value); first[of] {
			want++
		} else {
			first[of] = true
		}
		key := store.Key{Network: network, ID: fmt.Sprintf("object-%06d", i)}
		if err := s.add(newClaimed(rule, store.Claim{Network: network, Value: value}, false, key)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.ends) < 2 || file.Len() == 0 {
		t.Fatalf("%d runs with %d bytes are in the file", len(s.ends), file.Len())
	}
	got, bad := 0, 0
	err := s.clashes(func(int) bool { return false }, func(c, with claimed) {
		got++
		if !c.group(with) || c.Network != with.Network || c.ID <= with.ID {
			bad++
		}
	})
	if err != nil || got != want || bad > 0 {
		t.Errorf("%d clashes, of which %d are wrong, instead of %d: %v", got, bad, want, err)
	}
}

// TestSorterOfIntervals: an interval clashes with any that overlaps it, not only with the one
// before it.
func TestSorterOfIntervals(t *testing.T) {
	s := sorter{file: &memoryFile{}}
	add := func(id, of, from, to string) {
		if err := s.add(newClaimed(0, store.Claim{Value: of + " " + to + " " + from}, true, store.Key{ID: id})); err != nil {
			t.Fatal(err)
		}
	}
	add("long", "hall", "1t2030-01-01", "1t2030-12-31")
	add("early", "hall", "1t2030-02-01", "1t2030-03-01")
	add("late", "hall", "1t2030-06-01", "1t2030-07-01")
	add("after", "hall", "1t2030-12-31", "2")
	add("elsewhere", "room", "0", "2")
	got := ""
	err := s.clashes(func(int) bool { return true }, func(c, with claimed) { got += c.ID + "-" + with.ID + " " })
	if want := "early-long late-long "; got != want || err != nil {
		t.Errorf("the clashes are %q instead of %q: %v", got, want, err)
	}
}
