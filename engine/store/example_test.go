package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// What a transaction writes is durable as a whole or not at all, and a snapshot reads it
// back. Any other store can take the place of this one.
func ExampleStore() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "marquee-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(folder, "marquee.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println(s.EnsureCollections(ctx, []store.Collection{{Name: "wards"}}))

	key := store.Key{Network: "main", ID: "east"}
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	put := func(tx store.Tx, expected int64, text string) error {
		record := store.Record{Key: key, State: "ACTIVE", CreateTime: at, UpdateTime: at, Document: []byte(text)}
		return tx.Put(ctx, "wards", []store.Write{{Record: record, Expected: expected}})
	}
	fmt.Println(s.Write(ctx, func(tx store.Tx) error { return put(tx, 0, `{"beds":12}`) }))
	fmt.Println(s.Write(ctx, func(tx store.Tx) error {
		if err := put(tx, 1, `{"beds":13}`); err != nil {
			return err
		}
		return store.ErrRollback
	}))

	fmt.Println(s.Read(ctx, func(snapshot store.Snapshot) error {
		return snapshot.Get(ctx, "wards", []store.Key{key}, func(r *store.Record) error {
			fmt.Println(r.ID, r.Revision, string(r.Document))
			return nil
		})
	}))
	// Output:
	// <nil>
	// <nil>
	// store: roll back
	// east 1 {"beds":12}
	// <nil>
}
