package folder

import (
	"bytes"
	"context"
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

func (shared) Serial() bool { return false }

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

	// A store has the number of a set of another server, and the server has it, too.
	keep(b, "y")
	keep(b, "x")
	a.beaten = time.Time{}
	if _, err := a.Beat(t.Context()); err != nil || a.Number("x") != 6 || a.Number("y") != 0 {
		t.Errorf("the set has the number %d, %v", a.Number("x"), err)
	}
	// After an error, nothing counts as known.
	ended, end := context.WithCancel(t.Context())
	end()
	if sets, err := b.Keep(ended, "z", nil); err == nil || sets.Sets != nil || b.Number("z") != 0 {
		t.Errorf("a set that cannot be kept: %v, %v", sets, err)
	}
}

// TestKeepAgain: a set that a server notes again is the same since the same time, also after
// an attempt that has failed.
func TestKeepAgain(t *testing.T) {
	s := openShared(t)
	r := NewRegister(s, "a")
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := r.Keep(ended, "x", Recorded([]byte("files"))); err == nil || r.Number("x") != 0 {
		t.Errorf("the number is %d, %v", r.Number("x"), err)
	}
	var since time.Time
	for i := range 2 {
		sets, err := r.Keep(t.Context(), "x", Recorded([]byte("files")))
		if err != nil || len(sets.Sets) != 1 || len(sets.Servers) != 1 || r.Number("x") != 1 {
			t.Fatalf("%v are known, %v", sets, err)
		}
		if i == 0 {
			since = sets.Servers[0].Since
			noted := *r.noted.Load()
			noted.Since = since.Add(-time.Hour)
			r.noted.Store(&noted)
		} else if !sets.Servers[0].Since.Equal(since.Add(-time.Hour)) {
			t.Errorf("it is served since %s", sets.Servers[0].Since)
		}
	}
	if files, _, err := Packed(t.Context(), s, 1); string(files) != "files" || err != nil {
		t.Errorf("the files are %q, %v", files, err)
	}
}

// TestBeatOfOneProcess: a store that belongs to one process is not read again and again.
func TestBeatOfOneProcess(t *testing.T) {
	s, _ := openShared(t).(shared)
	r := NewRegister(s.Store, "a")
	if _, err := r.Keep(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if sets, err := r.Beat(t.Context()); len(sets.Servers) != 0 || err != nil {
		t.Errorf("%v are known, %v", sets, err)
	}
}

// TestGoneServers: a server that does not say that it ends is gone after a while by the clock
// of another one, whatever its own clock says.
func TestGoneServers(t *testing.T) {
	s := openShared(t)
	a, b := NewRegister(s, "a"), NewRegister(s, "b")
	for _, r := range []*Register{a, b} {
		if _, err := r.Keep(t.Context(), "x", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err := changeSets(t.Context(), s, func(_ store.Tx, sets *Sets) error {
		for i := range sets.Servers {
			sets.Servers[i].Seen = sets.Servers[i].Seen.Add(-time.Hour)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		passed, looked time.Duration
		want           int
	}{{0, 0, 2}, {goneAfter - BeatInterval, 0, 2}, {BeatInterval + time.Second, time.Hour, 2}, {goneAfter + time.Second, 0, 1}} {
		for id, last := range a.sighted {
			a.sighted[id] = sighting{last.seen, last.at.Add(-c.passed)}
		}
		a.looked, a.beaten = a.looked.Add(-c.looked), time.Time{}
		if sets, err := a.Beat(t.Context()); len(sets.Servers) != c.want || err != nil {
			t.Errorf("%v: the servers are %v, %v", c, sets.Servers, err)
		}
	}
	b.beaten = time.Time{}
	if sets, err := b.Beat(t.Context()); len(sets.Servers) != 2 || err != nil { // it was only paused
		t.Errorf("the servers are %v, %v", sets.Servers, err)
	}
}

// clocked is a store whose clock is ahead of that of this machine.
type clocked struct {
	store.Store
	ahead time.Duration
}

func (c *clocked) Now(ctx context.Context) (time.Time, error) {
	now, err := c.Store.Now(ctx)
	return now.Add(c.ahead), err
}

// TestClocksOfServers: a server whose clock is behind, as seen from the store, is known for as
// long as another one.
func TestClocksOfServers(t *testing.T) {
	s := &clocked{openShared(t), time.Hour}
	if _, err := NewRegister(s, "a").Keep(t.Context(), "x", nil); err != nil {
		t.Fatal(err)
	}
	for passed, want := range map[time.Duration]int{0: 1, goneAfter - time.Minute: 1, goneAfter + time.Minute: 0} {
		s.ahead = time.Hour + passed
		if sets, err := Known(t.Context(), s); len(sets.Servers) != want || err != nil {
			t.Errorf("after %v the servers are %v, %v", passed, sets.Servers, err)
		}
	}
}

// TestNumberDoesNotWait: the number of the set is read while the store is slow.
func TestNumberDoesNotWait(t *testing.T) {
	r := NewRegister(openShared(t), "a")
	_, err := r.change(t.Context(), func(_ store.Tx, sets *Sets, _ *Server) error {
		sets.Sets = []Set{{Number: 1}}
		if n := r.Number("x"); n != 0 {
			t.Errorf("the number is %d", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
	var kept packedFiles // for the earlier version
	err = s.Read(t.Context(), func(r store.Snapshot) error {
		_, err := store.ReadOne(t.Context(), r, setCollection, store.Key{ID: acceptedSet}, &kept)
		return err
	})
	if string(kept.Zip) != "old" || err != nil {
		t.Errorf("the earlier version has %q, %v", kept.Zip, err)
	}
}

// TestBoundsOfSets: as many sets are kept as fit, and the last one; the servers that are
// listed are bounded, too.
func TestBoundsOfSets(t *testing.T) {
	s := openShared(t)
	r := NewRegister(s, "a")
	for i := range MaxSets + maxListed + 2 {
		server := *r.noted.Load()
		server.Name = fmt.Sprint("server ", i)
		r.noted.Store(&server)
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
	fallback := Sets{Sets: make([]Set, MaxSets+1)}
	fallback.Sets[0] = Set{Number: 1, Bytes: 1}
	if dropped := fallback.trim(); len(dropped) != 1 || fallback.Sets[0].Number != 1 {
		t.Errorf("the last set that has files is dropped: %v", dropped)
	}
	for i := range maxServers + 1 {
		large.Servers = append(large.Servers, Server{Name: fmt.Sprint(i), Seen: time.Now()})
	}
	if large.settle(time.Now(), func(Server) bool { return false }); len(large.Servers) != maxServers {
		t.Errorf("%d servers are known", len(large.Servers))
	}
}
