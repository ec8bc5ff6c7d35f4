package walk

import (
	"context"
	"errors"
	"time"

	"marquee/engine/store"
)

const (
	// pageSize and pageBytes bound the records that are read at once.
	pageSize  = 500
	pageBytes = 1 << 20
	// changeTime is the target duration of a change, which another write may have to wait
	// for, and maxRest bounds the pause after one.
	changeTime = 50 * time.Millisecond
	maxRest    = 250 * time.Millisecond
)

// Changes changes those records of a collection that need it. They are found in snapshots,
// so that records that need nothing hold up no write, and changed in short transactions. On a
// store that runs one write at a time (store.Store.Serial), the walk rests after each of them for
// as long as it took, unless Awaited, and so leaves half of the time to others. What is changed
// needs it no longer: after an interruption at any point, another walk goes on.
type Changes struct {
	Collection string
	// Needed reports whether a record, which is only lent, is to be changed.
	Needed func(*store.Record) (bool, error)
	// Change changes records of one network, in a transaction that may find that they have
	// changed, or are gone. Each run of it calls keys, which returns half as many after a run
	// that met another write, so that writes cannot keep it from its end.
	Change func(ctx context.Context, network string, keys func() []store.Key) error
	// Refused is called for a record for which Change fails by an error that is not of the
	// store, or by store.CodeTooLarge; if it returns nil, the walk goes on. If it is nil, such an
	// error ends the walk, as any other does but that of a conflict.
	Refused func(key store.Key, err error) error
	// Awaited reports that somebody waits for the end of the walk, so that it rests only after
	// changes that have failed. Writes that wait for a change still take turns with the next.
	Awaited bool
	// After is the key of the last record that was looked at, Met how many were, and Changed
	// how many of them needed a change, and do no longer.
	After        store.Key
	Met, Changed int64

	pace Pace
}

// Run goes on after After until a time. It reports whether it has come to the end of the
// collection, and the records to the store.Progress of the context.
func (c *Changes) Run(ctx context.Context, s store.Store, until time.Time) (end bool, err error) {
	if c.pace.Size == 0 {
		c.pace = Pace{Target: changeTime, Size: FirstStep, Max: pageSize}
	}
	for {
		began := time.Now()
		needed, last, met, err := c.look(ctx, s)
		if err != nil || met == 0 {
			return err == nil, err
		}
		if len(needed) == 0 && !c.Awaited {
			Sleep(ctx, min(time.Since(began)/2, maxRest))
		}
		for len(needed) > 0 {
			n, err := c.change(ctx, s, needed)
			if err != nil {
				return false, err
			}
			needed = needed[n:]
		}
		c.After, c.Met = last, c.Met+int64(met)
		store.Advance(ctx, met)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if time.Now().After(until) {
			return false, nil
		}
	}
}

var errPageFull = errors.New("walk: the page is full")

// look reads the next records, and returns the keys of those that are to be changed.
func (c *Changes) look(ctx context.Context, s store.Store) (needed []store.Key, last store.Key, met int, err error) {
	err = s.Read(ctx, func(snapshot store.Snapshot) error {
		needed, last, met = nil, c.After, 0
		bytes := 0
		err := snapshot.Scan(ctx, c.Collection, c.After, pageSize, func(r *store.Record) error {
			is, err := c.Needed(r)
			if err != nil {
				return err
			}
			met++
			if last = r.Key; is {
				needed = append(needed, last)
			}
			if bytes += len(r.Document); bytes > pageBytes {
				return errPageFull
			}
			return nil
		})
		if errors.Is(err, errPageFull) {
			return nil
		}
		return err
	})
	return needed, last, met, err
}

// change changes the first of some records, and returns how many of them are done: none if it
// is to be called again, with fewer.
func (c *Changes) change(ctx context.Context, s store.Store, needed []store.Key) (done int, err error) {
	n, runs, began := 1, 0, time.Now()
	for n < min(len(needed), c.pace.Size) && needed[n].Network == needed[0].Network {
		n++
	}
	err = c.Change(ctx, needed[0].Network, func() []store.Key {
		if runs++; runs > 1 {
			n = c.fewer(n)
		}
		began = time.Now()
		return needed[:n]
	})
	took := time.Since(began)
	if err != nil || s.Serial() && !c.Awaited {
		Sleep(ctx, min(took, maxRest))
	}
	code, ofStore := store.CodeOf(err)
	again := code == store.CodeConflict || code == store.CodeUncertain
	switch {
	case err == nil:
		c.pace.Took(took, runs)
		c.Changed += int64(n)
		return n, nil
	case ctx.Err() != nil, !again && (c.Refused == nil || ofStore && code != store.CodeTooLarge):
		return 0, err
	case n == 1 && !again:
		return 1, c.Refused(needed[0], err)
	}
	c.fewer(n)
	return 0, nil
}

// fewer returns how many records are to be changed instead of n.
func (c *Changes) fewer(n int) int {
	c.pace.Size = n
	c.pace.Again()
	return c.pace.Size
}
