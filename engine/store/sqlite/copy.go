package sqlite

import (
	"context"
	"fmt"
	"strconv"

	"marquee/engine/store"
)

var loadingVersion = int64(store.LoadingVersion + len(migrations))

// Dump implements store.Portable.
func (s *Store) Dump(ctx context.Context, after string, yield func(*store.Portion) error) error {
	return s.Read(ctx, func(snapshot store.Snapshot) (err error) {
		v := snapshot.(*view)
		portions := &store.Portions{Yield: yield}
		if portions.Collections, err = v.collections(ctx); err != nil {
			return err
		}
		// Terms are sorted by record, for which there may be no memory.
		if err := v.conn.exec("PRAGMA temp_store=FILE"); err != nil {
			return v.ended(err)
		}
		defer func() {
			if wrong := v.conn.exec("PRAGMA temp_store=MEMORY"); err == nil {
				err = v.ended(wrong)
			}
		}()
		return portions.Each(after, func(part string, after []string) error {
			switch part {
			case store.BlobsPart:
				return v.dumpBlobs(ctx, portions, after)
			case store.ChangesPart:
				return v.dumpChanges(ctx, portions, after)
			case store.ClaimsPart:
				return v.dumpClaims(ctx, portions, after)
			}
			return v.dumpRecords(ctx, portions, part, after)
		})
	})
}

// collections returns the names of all collections.
func (v *view) collections(ctx context.Context) (names []string, err error) {
	err = v.query(ctx, "SELECT substr(name,3) FROM sqlite_master WHERE type='table' AND name GLOB 'r_*'", nil, func(row *stmt) error {
		names = append(names, row.ColumnText(0))
		return nil
	})
	return names, err
}

// numberAt returns the number of a position of one number, 0 at the beginning.
func numberAt(after []string) (int64, error) {
	if len(after) == 0 {
		return 0, nil
	}
	return seqOf(after[0])
}

// dumpRecords reads the records of a collection in the order in which they were stored, and
// beside them their terms, which have no index by record, sorted by it.
func (v *view) dumpRecords(ctx context.Context, p *store.Portions, collection string, after []string) error {
	last, err := numberAt(after)
	if err != nil {
		return err
	}
	terms, err := v.conn.prepare(fmt.Sprintf(`SELECT record, (SELECT key FROM term_keys WHERE number=key_), value FROM (
SELECT record, key AS key_, value FROM %s WHERE record>?1 UNION ALL SELECT o_record, o_key, o_value FROM %s WHERE o_record>?1)
ORDER BY record`, termTable(collection), orderedTable(collection)), last)
	if err != nil {
		return v.ended(err)
	}
	defer terms.reset()
	defer v.interruptible()()
	more := terms.Step()
	var record store.Record
	return v.query(ctx, "SELECT "+recordColumns+",seq FROM "+table(collection)+" WHERE seq>? ORDER BY seq", []any{last}, func(s *stmt) error {
		s.record(&record)
		seq := s.ColumnInt64(seqColumn)
		var of []store.Term
		for ; more && terms.ColumnInt64(0) <= seq; more = terms.Step() {
			if terms.ColumnInt64(0) == seq {
				of = append(of, store.Term{Key: terms.ColumnText(1), Value: terms.ColumnText(2)})
			}
		}
		if err := terms.Err(); err != nil {
			return v.ended(v.conn.fault(err))
		}
		return p.Record(&record, of, strconv.FormatInt(seq, 10))
	})
}

func (v *view) dumpClaims(ctx context.Context, p *store.Portions, after []string) error {
	if len(after) != 4 {
		after = make([]string, 4)
	}
	return v.query(ctx, `SELECT collection,network,property,value,id FROM claims WHERE (collection,network,property,value)>(?,?,?,?)
ORDER BY collection,network,property,value`, []any{after[0], after[1], after[2], after[3]}, func(s *stmt) error {
		c := store.OwnedClaim{Claim: store.Claim{Collection: s.ColumnText(0), Network: s.ColumnText(1), Property: s.ColumnText(2), Value: s.ColumnText(3)}, Owner: s.ColumnText(4)}
		return p.Claim(c, c.Collection, c.Network, c.Property, c.Value)
	})
}

func (v *view) dumpChanges(ctx context.Context, p *store.Portions, after []string) error {
	last, err := numberAt(after)
	if err != nil {
		return err
	}
	return v.query(ctx, "SELECT "+changeColumns+contentColumns+" FROM changes WHERE seq>? ORDER BY seq", []any{last}, func(s *stmt) error {
		c := kept(s.content())
		return p.Change(c, c.Position)
	})
}

func (v *view) dumpBlobs(ctx context.Context, p *store.Portions, after []string) error {
	last := int64(-1)
	if len(after) != 3 {
		after = make([]string, 3)
	} else if n, err := seqOf(after[2]); err != nil {
		return err
	} else {
		last = n
	}
	return v.query(ctx, `SELECT network,id,size,time,coalesce(n,0),data FROM blobs LEFT JOIN blob_pieces USING (network,id)
WHERE (network,id)>(?1,?2) OR network=?1 AND id=?2 AND n>?3 ORDER BY network,id,n`, []any{after[0], after[1], last}, func(s *stmt) error {
		piece := store.Piece{Blob: s.blob(), N: s.ColumnInt64(4), Data: s.ColumnRawBlob(5)}
		return p.Piece(piece, piece.Network, piece.ID, strconv.FormatInt(piece.N, 10))
	})
}

// Load implements store.Portable.
func (s *Store) Load(ctx context.Context, p *store.Portion, l store.Loading) error {
	return s.Write(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		if err := t.guard(ctx); err != nil {
			return err
		}
		if !s.options.Loading {
			return &store.Error{Code: store.CodeInternal, Text: "the store was not opened for loading"}
		}
		version := loadingVersion
		if l.Last {
			version = int64(len(migrations))
		}
		if err := t.conn.exec(fmt.Sprintf("PRAGMA user_version=%d", version)); err != nil {
			return t.ended(err)
		}
		if err := t.load(ctx, p); err != nil {
			return err
		}
		if err := t.Put(ctx, store.LoadingCollection, []store.Write{l.Progress}); err != nil || !l.Last {
			return err
		}
		return store.Drop(ctx, t, store.LoadingCollection, []store.Key{l.Progress.Key})
	})
}

func (t *transaction) load(ctx context.Context, p *store.Portion) error {
	if len(p.Records) > 0 {
		if err := t.Put(ctx, p.Part, p.Records); err != nil {
			return err
		}
	}
	for _, c := range p.Claims {
		if err := t.claim(c.Claim, c.Owner); err != nil {
			return t.ended(err)
		}
	}
	for i := range p.Pieces {
		piece := &p.Pieces[i]
		if piece.N == 0 {
			err := t.conn.run("INSERT INTO blobs (network,id,size,time) VALUES (?,?,?,?)", piece.Network, piece.ID, piece.Size, piece.Time.UnixMilli())
			if err != nil {
				return t.ended(err)
			}
		}
		if len(piece.Data) > 0 {
			if err := t.putPiece(piece.Key, int(piece.N), piece.Data); err != nil {
				return t.ended(err)
			}
		}
	}
	return t.Append(ctx, p.Changes)
}
