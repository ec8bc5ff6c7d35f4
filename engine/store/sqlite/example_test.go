package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// One process at a time has the file, and what it has written is there for the next.
func ExampleOpen() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "marquee-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	options := sqlite.Options{Path: filepath.Join(folder, "marquee.db")}
	wards := []store.Collection{{Name: "wards"}}
	east := store.Key{Network: "main", ID: "east"}

	s, err := sqlite.Open(ctx, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = errors.Join(s.EnsureCollections(ctx, wards), s.Write(ctx, func(tx store.Tx) error {
		at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		return tx.Put(ctx, "wards", []store.Write{store.InternalWrite(store.Record{Key: east}, "ACTIVE", []byte(`{"beds":12}`), at)})
	}))
	_, second := sqlite.Open(ctx, options)
	fmt.Println(err, errors.Is(second, sqlite.ErrInUse), s.Close())

	options.MustExist = true
	s, err = sqlite.Open(ctx, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	err = errors.Join(s.EnsureCollections(ctx, wards), s.Read(ctx, func(snapshot store.Snapshot) error {
		return snapshot.Get(ctx, "wards", []store.Key{east}, func(r *store.Record) error {
			fmt.Println(r.ID, string(r.Document))
			return nil
		})
	}))
	fmt.Println(err)
	// Output:
	// <nil> true <nil>
	// east {"beds":12}
	// <nil>
}
