package expiry

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// The oldest records go while they have expired, in several transactions; younger ones and
// those of another state stay.
func TestDrop(t *testing.T) {
	ctx := t.Context()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.EnsureCollections(ctx, []store.Collection{{Name: "records"}}); err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	const old, young = first + perRound + 10, 5
	err = s.Write(ctx, func(tx store.Tx) error {
		var writes []store.Write
		for i := range old + young {
			record := store.Record{Key: store.Key{ID: fmt.Sprint(i)}}
			writes = append(writes, store.InternalWrite(record, "ACTIVE", []byte("{}"), begin.Add(time.Duration(i)*time.Second)))
		}
		writes = append(writes, store.InternalWrite(store.Record{Key: store.Key{ID: "other"}}, "INACTIVE", []byte("{}"), begin))
		return tx.Put(ctx, "records", writes)
	})
	if err != nil {
		t.Fatal(err)
	}
	active := query.Compare{Field: query.Field{System: query.State}, Op: query.Equal, Value: "ACTIVE"}
	err = Drop(ctx, s, "records", active, func(r *store.Record) (bool, error) {
		return r.CreateTime.Before(begin.Add(old * time.Second)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Read(ctx, func(r store.Snapshot) error {
		n, err := r.Count(ctx, query.Query{Collection: "records"})
		if n != young+1 {
			t.Errorf("%d records are left", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
