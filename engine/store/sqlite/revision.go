package sqlite

import (
	"strconv"
	"strings"
	"sync"

	"marquee/engine/store"
)

// commits numbers the commits, so that it is known which a snapshot sees, and
// which commit was the last one that touched a collection.
type commits struct {
	mu sync.Mutex
	// last is the number of the last commit that is known to be in the file, and
	// next the one that is being written, or nil.
	last uint64
	next *commit
	// recent are the last commits in order, at most maxRecent.
	recent  []*commit
	touched map[string]uint64
}

// maxRecent is the number of commits that may fall between the beginning of a
// read transaction and its first statement.
const maxRecent = 64

// commit is what a transaction, or a group of them, changes.
type commit struct {
	number uint64
	// touched holds the collections that were written.
	touched map[string]bool
	tallies store.TallyChanges
	// change is the last change that was appended, and record the place of a
	// record that was written, whose revision is then the least that it has. A
	// snapshot that has one of them sees the commit. Dropped reports whether
	// records were dropped, perhaps this one.
	change  int64
	record  place
	least   int64
	dropped bool
}

// add makes what a transaction changes part of a commit.
func (c *commit) add(one *commit) {
	for name := range one.touched {
		c.touched[name] = true
	}
	c.tallies = append(c.tallies, one.tallies...)
	c.change, c.dropped = max(c.change, one.change), c.dropped || one.dropped
	if one.least > 0 {
		c.record, c.least = one.record, one.least
	}
}

// begin returns the last commit that a snapshot which is taken later sees in any
// case.
func (c *commits) begin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// between returns the commits after one that a snapshot which has been taken
// may see, in order; ok is false when they are too many to be known.
func (c *commits) between(since uint64) (maybe []*commit, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	later := int(c.last - since) // #nosec G115 -- commits since the transaction began
	if later > len(c.recent) {
		return nil, false
	}
	if later > 0 {
		maybe = append(maybe, c.recent[len(c.recent)-later:]...)
	}
	if c.next != nil {
		maybe = append(maybe, c.next)
	}
	return maybe, true
}

// write notes that a commit is being written, unless it changes nothing that
// is counted. Only the writer calls it.
func (c *commits) write(next *commit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(next.touched)+len(next.tallies) > 0 {
		next.number = c.last + 1
		c.next = next
	}
}

// written notes that a commit is in the file, which a reader may see before the
// writer returns.
func (s *Store) written(done *commit) {
	c := &s.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != done { // perhaps nil
		return
	}
	c.next, c.last = nil, done.number
	if len(c.recent) == maxRecent {
		c.recent = append(c.recent[:0], c.recent[1:]...)
	}
	c.recent = append(c.recent, done)
	for name := range done.touched {
		c.touched[name] = done.number
	}
	s.tallies.Commit(done.number, done.tallies)
}

// failed notes that a commit was rolled back. Nothing that depends on what it
// was about to change is kept.
func (s *Store) failed(lost *commit) {
	c := &s.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	if lost.number == 0 {
		return
	}
	c.next, c.recent, c.last = nil, nil, lost.number
	for name := range lost.touched {
		c.touched[name] = lost.number
	}
	s.tallies.Clear(lost.number)
}

// revision returns the last commit that touched a collection, if a snapshot that
// sees the commits up to a number sees it, and none that follow.
func (c *commits) revision(collection string, number uint64) (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	revision := c.touched[collection]
	return revision, revision <= number
}

// Recent implements store.Store. No other process writes to the file.
func (s *Store) Recent(collections ...string) (string, bool) {
	c := &s.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range collections {
		if c.next != nil && c.next.touched[name] {
			return "", false
		}
		b.WriteString(strconv.FormatUint(c.touched[name], 36))
		b.WriteByte('.')
	}
	return b.String(), true
}
