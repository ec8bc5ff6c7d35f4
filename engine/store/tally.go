package store

import (
	"slices"
	"sync"
)

const (
	// maxTallies is the number of tallies kept, and maxLate the number of changes of each
	// that are kept apart, for snapshots that are older than the last commits. While a
	// tally is counted, it may have maxLateCounting.
	maxTallies      = 4096
	maxLate         = 128
	maxLateCounting = 8192
)

// Tallies keeps in memory how many records a collection has in a network, by a label,
// such as the state. Each is counted once, and then brought up to date by what commits
// change. It is exact as of any commit since, and may be read as of the last ones.
//
// Adapters use it. A commit is identified by a number that grows in the order in which
// snapshots see commits.
type Tallies struct {
	mu sync.Mutex
	// latest is the last commit of which the changes are known.
	latest uint64
	kept   map[Place]*tally
}

// tally has the numbers as of a commit, and what later commits have changed.
type tally struct {
	counted bool
	base    map[string]int64
	as      uint64
	late    []lateChange
}

type lateChange struct {
	commit uint64
	label  string
	n      int64
}

// TallyChange is by how much a commit changes a tally.
type TallyChange struct {
	Place
	Label string
	N     int64
	// Unknown reports that the change of the place is not known. Its tally is dropped
	// with the commit: one that was counted without the commit would stay wrong.
	Unknown bool
}

// TallyChanges are those of a transaction.
type TallyChanges []TallyChange

// Add adds a change. Changes of the same tally that follow each other become one.
func (c *TallyChanges) Add(place Place, label string, n int64) {
	for i := len(*c) - 1; i >= max(0, len(*c)-4); i-- {
		if last := &(*c)[i]; last.Place == place && last.Label == label {
			last.N += n
			return
		}
	}
	*c = append(*c, TallyChange{Place: place, Label: label, N: n})
}

// Move adds the change of a record from one label to another.
func (c *TallyChanges) Move(place Place, from, to string) {
	if from != to {
		c.Add(place, from, -1)
		c.Add(place, to, 1)
	}
}

// Forget adds an unknown change of a place.
func (c *TallyChanges) Forget(place Place) {
	if unknown := (TallyChange{Place: place, Unknown: true}); !slices.Contains(*c, unknown) {
		*c = append(*c, unknown)
	}
}

// Commit notes the changes of a commit, in the order of commits. One that is not after
// the latest has been noted already.
func (t *Tallies) Commit(commit uint64, changes TallyChanges) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if commit <= t.latest {
		return
	}
	t.latest = commit
	for _, change := range changes {
		kept := t.kept[change.Place]
		switch {
		case change.Unknown:
			delete(t.kept, change.Place)
			continue
		case kept == nil, change.N == 0:
			continue
		}
		kept.late = append(kept.late, lateChange{commit, change.Label, change.N})
		switch {
		case kept.counted && len(kept.late) > maxLate:
			kept.fold(kept.late[maxLate/2].commit)
		case len(kept.late) > maxLateCounting:
			delete(t.kept, change.Place)
		}
	}
}

// fold adds the changes up to a commit to the base.
func (t *tally) fold(commit uint64) {
	n := 0
	for _, change := range t.late {
		if change.commit > commit {
			break
		}
		if n++; change.commit > t.as {
			t.base[change.label] += change.n
		}
	}
	t.late = append(t.late[:0], t.late[n:]...)
	t.as = max(t.as, commit)
}

// Clear drops all tallies, and begins at another commit.
func (t *Tallies) Clear(latest uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept, t.latest = nil, latest
}

// Sum returns the number of records whose labels meet a condition, in a snapshot that
// sees the commits up to one. If it is not known, count counts them in the snapshot.
func (t *Tallies) Sum(place Place, commit uint64, holds func(label string) bool, count func() (map[string]int64, error)) (int64, error) {
	n, known, counting := t.sum(place, commit, holds)
	if known {
		return n, nil
	}
	counted, err := count()
	if counting != nil {
		t.counted(place, counting, counted, err == nil)
	}
	for label, records := range counted {
		if holds(label) {
			n += records
		}
	}
	return n, err
}

// Latest returns the last commit whose changes are known.
func (t *Tallies) Latest() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.latest
}

// Has reports whether a tally is kept that has been counted.
func (t *Tallies) Has(place Place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept[place]
	return kept != nil && kept.counted
}

// sum returns the number if it is known. Otherwise, counting is a new tally, unless
// changes since the snapshot would be missing.
func (t *Tallies) sum(place Place, commit uint64, holds func(label string) bool) (n int64, known bool, counting *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept[place]
	switch {
	case kept == nil && commit < t.latest:
		return 0, false, nil
	case kept == nil:
		if len(t.kept) >= maxTallies {
			for other := range t.kept { // in random order
				delete(t.kept, other)
				break
			}
		}
		if t.kept == nil {
			t.kept = map[Place]*tally{}
		}
		counting = &tally{as: commit}
		t.kept[place] = counting
		return 0, false, counting
	case !kept.counted, commit < kept.as, commit > t.latest:
		return 0, false, nil
	}
	for label, records := range kept.base {
		if holds(label) {
			n += records
		}
	}
	for _, change := range kept.late {
		if change.commit > kept.as && change.commit <= commit && holds(change.label) {
			n += change.n
		}
	}
	return n, true, nil
}

// counted completes a new tally, or drops it.
func (t *Tallies) counted(place Place, counting *tally, base map[string]int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.kept[place] != counting: // dropped meanwhile
	case !ok:
		delete(t.kept, place)
	default:
		counting.base, counting.counted = make(map[string]int64, len(base)), true
		for label, records := range base {
			counting.base[label] = records
		}
		if len(counting.late) > maxLate {
			counting.fold(counting.late[len(counting.late)-maxLate/2].commit)
		}
	}
}
