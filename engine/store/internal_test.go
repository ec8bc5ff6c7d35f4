package store_test

import (
	"testing"
	"time"

	"marquee/engine/store"
)

func TestInternalWriteKeepsTheCreationTime(t *testing.T) {
	created := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	now := created.Add(time.Hour + 1)
	key := store.Key{Network: "n", ID: "a"}
	first := store.InternalWrite(store.Record{Key: key}, "ACTIVE", []byte("{}"), now)
	if want := created.Add(time.Hour); first.Key != key || first.Expected != 0 || !first.CreateTime.Equal(want) || !first.UpdateTime.Equal(want) {
		t.Errorf("a new record: %+v", first)
	}
	next := store.InternalWrite(store.Record{Key: key, Revision: 3, CreateTime: created}, "HIDDEN", []byte("{}"), now)
	if next.Expected != 3 || next.State != "HIDDEN" || !next.CreateTime.Equal(created) || !next.UpdateTime.Equal(now.Truncate(time.Millisecond)) {
		t.Errorf("a stored record: %+v", next)
	}
}
