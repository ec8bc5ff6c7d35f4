package sqlite

import (
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
)

// revisions counts the commits that touched each collection. A count is odd
// while such a commit is running. If it is even and the same before and after a
// reader took its snapshot, the snapshot is exactly that of the count.
type revisions struct {
	counts atomic.Pointer[map[string]uint64]
}

func (r *revisions) load() map[string]uint64 {
	if counts := r.counts.Load(); counts != nil {
		return *counts
	}
	return nil
}

// step is called only by the writer, before and after a commit.
func (r *revisions) step(touched map[string]bool) {
	if len(touched) == 0 {
		return
	}
	next := maps.Clone(r.load())
	if next == nil {
		next = map[string]uint64{}
	}
	for name := range touched {
		next[name]++
	}
	r.counts.Store(&next)
}

// Recent implements store.Store. No other process writes to the file.
func (s *Store) Recent(collections ...string) (string, bool) { return s.Revision(collections...) }

// Revision implements store.Store.
func (s *Store) Revision(collections ...string) (string, bool) {
	now := s.revs.load()
	var b strings.Builder
	for _, name := range collections {
		if now[name]&1 == 1 {
			return "", false
		}
		b.WriteString(strconv.FormatUint(now[name], 36))
		b.WriteByte('.')
	}
	return b.String(), true
}
