package article

import (
	"context"

	"marquee/engine/store"
	"marquee/resources/article/index"
)

// filling is an index that is being filled. It keeps its content when a step fails.
type filling struct {
	index    index.Index
	position string
	last     store.Key
	ended    bool
}

// fill creates an index of all articles, and starts following from the position before
// that.
func (f *follower) fill(ctx context.Context, kept **filling) error {
	if *kept == nil {
		within, cancel := context.WithTimeout(ctx, stepTime)
		defer cancel()
		position, err := f.e.Store.End(within)
		if err != nil {
			return err
		}
		*kept = &filling{index: f.newIndex(), position: position}
	}
	now := *kept
	for !now.ended {
		if err := f.more(ctx, now); err != nil {
			return err
		}
	}
	if err := now.index.Flush(ctx); err != nil {
		return err
	}
	*kept = nil
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.position, f.revision = now.position, ""
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index = now.index
	close(f.filled)
	return nil
}

// more indexes a page of articles.
func (f *follower) more(ctx context.Context, now *filling) error {
	within, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	var all []entry
	err := f.e.Store.Read(within, func(s store.Snapshot) error {
		all = all[:0]
		return s.Scan(within, Name, now.last, page, func(r *store.Record) error {
			all = append(all, entryOf(r))
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := f.put(ctx, now.index, all); err != nil {
		return err
	}
	if now.ended = len(all) < page; len(all) > 0 {
		now.last = all[len(all)-1].key
	}
	return nil
}
