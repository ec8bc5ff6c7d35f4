package sqlite

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"

	"marquee/engine/store"
)

// ScanHistory implements store.Snapshot.
func (v *view) ScanHistory(ctx context.Context, collection, after string, limit int) ([]store.Change, error) {
	var seq int64
	if after != "" {
		var err error
		if seq, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, &store.Error{Code: store.CodeInternal, Text: "the position does not come from the history"}
		}
	}
	var changes []store.Change
	err := v.query(ctx, "SELECT "+changeColumns+contentColumns+" FROM changes WHERE seq>? AND +collection=? ORDER BY seq LIMIT ?", []any{seq, collection, limit}, func(s *stmt) error {
		changes = append(changes, kept(s.content()))
		return nil
	})
	return changes, err
}

// Rewrite implements store.Tx.
func (t *transaction) Rewrite(ctx context.Context, collection string, records []store.Record) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.grow(len(records)); err != nil {
		return err
	}
	t.touch(collection)
	sql := "UPDATE " + table(collection) + " SET doc=? WHERE network=? AND id=? AND coalesce(revision,version)=? RETURNING 1"
	return t.wipe(func() error {
		for i := range records {
			r, found := &records[i], false
			err := t.conn.rows(sql, []any{r.Document, r.Network, r.ID, r.Revision}, func(*stmt) error {
				found = true
				return nil
			})
			if err == nil && !found {
				err = errVersion
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// RewriteHistory implements store.Tx.
func (t *transaction) RewriteHistory(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.grow(len(changes)); err != nil {
		return err
	}
	return t.wipe(func() error {
		for i := range changes {
			var notices any
			if len(changes[i].Notices) > 0 {
				notices = changes[i].Notices
			}
			if err := t.conn.run("UPDATE changes SET fields=?, notices=? WHERE seq=?", changes[i].Fields, notices, changes[i].Position); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	// maxWiped is the maximum size of a file that Wipe rewrites as a whole, because
	// writes wait meanwhile.
	maxWiped = 256 << 20
	// wipeWait limits the time for which Wipe then waits for reads that need the old
	// data, and writes wait for Wipe.
	wipeWait = time.Second
)

// Wipe implements store.Store. In a larger file, free space within pages keeps old data. As
// long as a read needs old data, the log keeps it, and is truncated after a later write.
func (s *Store) Wipe(ctx context.Context) (rewritten int64, err error) {
	c, err := openWriter(s.options)
	if err != nil {
		return 0, s.observe(ctx, err)
	}
	defer c.close()
	c.setContext(ctx)
	s.wiping.Lock()
	defer s.wiping.Unlock()
	size, err := c.number("SELECT page_count*page_size FROM pragma_page_count, pragma_page_size")
	if err == nil && size <= maxWiped {
		if err = c.roomToCopy(filepath.Dir(s.options.Path)); err == nil {
			rewritten = size
			err = c.exec("PRAGMA temp_store=FILE; VACUUM")
		}
	}
	// Also after an error: the log may have taken the rest of the disk.
	truncated := s.copied(func() error { return c.emptyLog(wipeWait) })
	if errors.Is(truncated, sqlite3.BUSY) {
		s.stale.Store(true)
		truncated = &store.Error{Code: store.CodeConflict, Text: "a read still needs what was to be overwritten", Cause: truncated}
	}
	return rewritten, s.observe(ctx, cmp.Or(err, truncated))
}

// wipe makes SQLite overwrite what replace deletes, because it may hold a
// secret.
func (t *transaction) wipe(replace func() error) error {
	err := t.conn.exec("PRAGMA secure_delete=ON")
	if err == nil {
		err = replace()
		err = errors.Join(err, t.conn.exec("PRAGMA secure_delete=OFF"))
	}
	return t.ended(err)
}
