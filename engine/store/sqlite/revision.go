package sqlite

import (
	"crypto/sha256"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// revisions counts the commits that touched each collection. A count is odd
// while such a commit is under way, so that a reader can tell that its
// snapshot is exactly the one of an even count that was the same before and
// after it began.
type revisions struct {
	counts atomic.Pointer[map[string]uint64]
}

func (r *revisions) load() map[string]uint64 {
	if counts := r.counts.Load(); counts != nil {
		return *counts
	}
	return nil
}

// step is called by the writer alone, before and after a commit.
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

// maxCounts is how many counts are kept.
const maxCounts = 4096

// counts keeps the answers of Count until their collection changes.
type counts struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]counted
}

type counted struct {
	revision uint64
	n        int64
}

func (c *counts) get(key [sha256.Size]byte, revision uint64) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.kept[key]
	return kept.n, ok && kept.revision == revision
}

func (c *counts) put(key [sha256.Size]byte, revision uint64, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxCounts {
		c.kept = map[[sha256.Size]byte]counted{}
	}
	c.kept[key] = counted{revision, n}
}
