package folder

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// shared is a store that other processes use, too.
type shared struct{ store.Store }

func (shared) Revision(...string) (string, bool) { return "", false }

func openShared(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "marquee.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.EnsureCollections(t.Context(), []store.Collection{Collection}); err != nil {
		t.Fatal(err)
	}
	return shared{s}
}

// served is what a store knows: the sets with their servers, and the servers with their sets.
func served(t *testing.T, s store.Store) (text string) {
	t.Helper()
	sets, err := Known(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets.Sets {
		text += fmt.Sprintf("%d %s %v, ", set.Number, set.Digest, set.Servers)
	}
	slices.SortFunc(sets.Servers, func(a, b Server) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	for _, server := range sets.Servers {
		text += fmt.Sprintf("%s %d, ", server.Name, server.Set)
	}
	return text + fmt.Sprint(!sets.Differ.IsZero())
}

// TestSets: each set has a number, and the servers that run are listed with theirs, until
// they end.
func TestSets(t *testing.T) {
	s := openShared(t)
	a, b := NewRegister(s, "a"), NewRegister(s, "b")
	keep := func(r *Register, digest string) {
		t.Helper()
		if _, err := r.Keep(t.Context(), digest, Recorded([]byte("files of "+digest))); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(want string) {
		t.Helper()
		if got := served(t, s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if _, err := a.Beat(t.Context()); err != nil { // nothing is served yet
		t.Fatal(err)
	}
	wants("false")
	keep(a, "x")
	keep(b, "x")
	wants("1 x [a b], a 1, b 1, false")
	keep(b, "y")
	wants("1 x [a b], 2 y [b], a 1, b 2, true")
	keep(a, "y")
	keep(b, "y")
	wants("1 x [a b], 2 y [a b], a 2, b 2, false")
	keep(a, "x") // another set than the last one
	keep(b, "x")
	wants("1 x [a b], 2 y [a b], 3 x [a b], a 3, b 3, false")
	if _, err := b.Keep(t.Context(), "of no folder", nil); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int64]string{0: "files of x", 2: "files of y", 4: ""} {
		if files, _, err := Packed(t.Context(), s, number); string(files) != want || err != nil {
			t.Errorf("the files of %d are %q, %v", number, files, err)
		}
	}
	if _, _, err := Packed(t.Context(), s, 5); !errors.Is(err, ErrNoSet) {
		t.Error(err)
	}
	if err := b.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants("1 x [a b], 2 y [a b], 3 x [a b], 4 of no folder [b], a 3, false")

	// A server that does not say that it ends is gone after a while, unless it was paused.
	later := func(passed time.Duration) {
		t.Helper()
		a.server.Seen = a.server.Seen.Add(-passed)
		_, err := changeSets(t.Context(), s, func(_ store.Tx, sets *Sets) error {
			sets.Servers[0].Seen = sets.Servers[0].Seen.Add(-passed)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	later(goneAfter - beatEvery)
	wants("1 x [a b], 2 y [a b], 3 x [a b], 4 of no folder [b], a 3, false")
	later(2 * beatEvery)
	wants("1 x [a b], 2 y [a b], 3 x [a b], 4 of no folder [b], false")
	if _, err := a.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	wants("1 x [a b], 2 y [a b], 3 x [a b], 4 of no folder [b], a 3, false")
}

// TestSetsOfEarlierVersion: the set that an earlier version kept is the last one until
// another one with files is kept.
func TestSetsOfEarlierVersion(t *testing.T) {
	s := openShared(t)
	err := s.Write(t.Context(), func(tx store.Tx) error {
		return store.PutInternal(t.Context(), tx, setCollection, store.Record{Key: store.Key{ID: acceptedSet}}, "ACTIVE", packedFiles{[]byte("old")}, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	r := NewRegister(s, "a")
	for _, c := range []struct {
		digest string
		files  *Recorder
		want   string
	}{{"1", nil, "old"}, {"2", Recorded([]byte("new")), "new"}} {
		if _, err := r.Keep(t.Context(), c.digest, c.files); err != nil {
			t.Fatal(err)
		}
		if files, accepted, err := Packed(t.Context(), s, 0); string(files) != c.want || accepted.IsZero() || err != nil {
			t.Errorf("the last set is %q of %s, %v", files, accepted, err)
		}
	}
}

// TestBoundsOfSets: as many sets are kept as fit, and the last one; the servers that are
// listed are bounded, too.
func TestBoundsOfSets(t *testing.T) {
	s := openShared(t)
	r := NewRegister(s, "a")
	for i := range MaxSets + maxListed + 2 {
		r.server.Name = fmt.Sprint("server ", i)
		if _, err := r.Keep(t.Context(), fmt.Sprint(min(i, MaxSets+1)), Recorded([]byte("files"))); err != nil {
			t.Fatal(err)
		}
	}
	sets, err := Known(t.Context(), s)
	if err != nil || len(sets.Sets) != MaxSets || len(sets.Servers) != 1 || len(sets.Sets[MaxSets-1].Servers) != maxListed {
		t.Fatalf("%v are known, %v", sets, err)
	}
	first := sets.Sets[0].Number
	if _, _, err := Packed(t.Context(), s, first); err != nil {
		t.Error(err)
	}
	if _, _, err := Packed(t.Context(), s, first-1); !errors.Is(err, ErrNoSet) {
		t.Error(err)
	}
	stored := 0
	err = s.Read(t.Context(), func(r store.Snapshot) error {
		return r.Scan(t.Context(), setCollection, store.Key{}, 1000, func(*store.Record) error {
			stored++
			return nil
		})
	})
	if stored != MaxSets+1 || err != nil {
		t.Errorf("%d records are stored, %v", stored, err)
	}

	large := Sets{Sets: []Set{{Number: 1, Bytes: maxKeptBytes / 2}, {Number: 2}, {Number: 3, Bytes: maxKeptBytes/2 + 1}}}
	if dropped := large.trim(); len(dropped) != 1 || large.Sets[0].Number != 2 {
		t.Errorf("%v are dropped, and %v remain", dropped, large.Sets)
	}
	for i := range maxServers + 1 {
		large.Servers = append(large.Servers, Server{Name: fmt.Sprint(i), Seen: time.Now()})
	}
	if large.settle(time.Now(), false); len(large.Servers) != maxServers {
		t.Errorf("%d servers are known", len(large.Servers))
	}
}
