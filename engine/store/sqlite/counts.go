package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"marquee/engine/query"
)

func (v *view) Count(ctx context.Context, q query.Query) (int64, error) {
	p, err := v.plan(ctx, q, true)
	if err != nil {
		return 0, err
	}
	if err := v.guard(ctx); err != nil {
		return 0, err
	}
	if err := v.take(); err != nil { // the count may be answered from memory
		return 0, v.ended(err)
	}
	sql, args := p.countSQL()
	revision := v.begun[q.Collection]
	key := countKey(sql, args)
	exact := v.fixed != nil && revision&1 == 0 && v.fixed[q.Collection] == revision
	if exact {
		if n, ok := v.s.counts.get(key, revision); ok {
			return n, nil
		}
	}
	defer v.interruptible()()
	n, err := v.conn.number(sql, args...)
	if err == nil && exact {
		v.s.counts.put(key, revision, n)
	}
	return n, v.ended(err)
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
