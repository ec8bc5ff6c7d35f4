package sqlite

import (
	"fmt"
	"sync"
)

// readers are the connections that nobody uses. The one given back last is taken first,
// because its cache and its statements are those of the latest reads.
type readers struct {
	mu    sync.Mutex
	free  []*conn
	given sync.Cond // on mu
}

// take returns a connection. The caller holds one of as many places.
func (r *readers) take() *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.free) - 1
	c := r.free[last]
	r.free = r.free[:last]
	return c
}

func (r *readers) give(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free = append(r.free, c)
	r.given.Signal()
}

// unused returns the number of connections that nobody uses.
func (r *readers) unused() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.free)
}

// await returns when n connections have been given back.
func (r *readers) await(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.free) < n {
		r.given.Wait()
	}
}

// limitCache sets the size of the cache of a reader before its first use and not when it
// is opened, because SQLite then parses the definitions of all tables.
func (c *conn) limitCache() error {
	if c.limited {
		return nil
	}
	err := c.exec(fmt.Sprintf("PRAGMA cache_size=-%d", readerCacheKB))
	c.limited = err == nil
	return err
}
