package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"marquee/engine/query"
	"marquee/engine/store"
)

// Count implements store.Snapshot. The numbers of records by state are tallied.
// Other counts are kept until their collection changes.
func (v *view) Count(ctx context.Context, q query.Query) (int64, error) {
	number, known, err := v.number(ctx)
	if err != nil {
		return 0, err
	}
	if holds, byState := query.StateFilter(q.Where); byState && known {
		return v.s.tallies.Sum(store.Place{Collection: q.Collection, Network: q.Network}, number, holds, func() (map[string]int64, error) {
			return v.tally(ctx, "SELECT state FROM "+table(q.Collection)+" WHERE network=?", q.Network)
		})
	}
	p, err := v.plan(ctx, q, true)
	if err != nil {
		return 0, err
	}
	sql, args := p.countSQL()
	revision, exact := v.s.commits.revision(q.Collection, number)
	key := countKey(sql, args)
	if exact = exact && known; exact {
		if n, ok := v.s.counts.get(key, revision); ok {
			return n, v.guard(ctx)
		}
	}
	if err := v.intersect(ctx, &p); err != nil {
		return 0, err
	}
	sql, args = p.countSQL()
	defer v.interruptible()()
	n, err := v.conn.number(sql, args...)
	if err == nil && exact {
		v.s.counts.put(key, revision, n)
	}
	return n, v.ended(err)
}

// tally counts the rows of a statement that selects the label of each. For SQLite
// to group them, it would sort them.
func (v *view) tally(ctx context.Context, sql, network string) (map[string]int64, error) {
	found := map[string]*int64{}
	err := v.query(ctx, sql, []any{network}, func(s *stmt) error {
		label := s.ColumnRawText(0)
		n := found[string(label)]
		if n == nil {
			n = new(int64)
			found[string(label)] = n
		}
		*n++
		return nil
	})
	labels := make(map[string]int64, len(found))
	for label, n := range found {
		labels[label] = *n
	}
	return labels, err
}

// number returns the last commit that the snapshot sees; known is false in a
// write transaction, and when the commits beside the snapshot leave no trace.
func (v *view) number(ctx context.Context) (number uint64, known bool, err error) {
	if err := v.guard(ctx); err != nil {
		return 0, false, err
	}
	if err := v.take(); err != nil {
		return 0, false, v.ended(err)
	}
	for len(v.maybe) > 0 && !v.unknown {
		last := v.maybe[len(v.maybe)-1]
		seen, decided, err := v.sees(ctx, last)
		switch {
		case err != nil:
			return 0, false, err
		case !decided:
			v.unknown = true
		case seen:
			v.s.written(last)
			v.since, v.maybe = last.number, nil
		default:
			v.maybe = v.maybe[:len(v.maybe)-1]
		}
	}
	return v.since, v.rows == nil && !v.unknown, nil
}

// sees reports whether the snapshot sees a commit, unless it sees a later one.
func (v *view) sees(ctx context.Context, c *commit) (seen, decided bool, err error) {
	sql, args := "SELECT 1 FROM changes WHERE seq=?", []any{c.change}
	switch {
	case c.change > 0:
	case c.least > 0 && !c.dropped:
		sql = "SELECT 1 FROM " + table(c.record.collection) + " WHERE network=? AND id=? AND coalesce(revision,version)>=?"
		args = []any{c.record.key.Network, c.record.key.ID, c.least}
	default:
		return false, false, nil
	}
	err = v.query(ctx, sql, args, func(*stmt) error {
		seen = true
		return nil
	})
	return seen, true, err
}

// countKey identifies a count in little memory: its statement may be long.
func countKey(sql string, args []any) [sha256.Size]byte {
	digest := sha256.New()
	fmt.Fprint(digest, sql)
	for _, arg := range args {
		fmt.Fprintf(digest, "\x00%T:%v", arg, arg)
	}
	return [sha256.Size]byte(digest.Sum(nil))
}

// maxCounts is the number of counts kept.
const maxCounts = 4096

// counts caches the results of Count until their collection changes.
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
