package folder_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"marquee/engine/folder"
	"marquee/engine/store"
	"marquee/engine/store/sqlite"
)

// The files that were read are kept as a set, which does not change when the files on
// disk do.
func ExampleRegister_Keep() {
	ctx := context.Background()
	place, err := os.MkdirTemp("", "marquee-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(place)
	s, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(place, "marquee.db")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	wards := filepath.Join(place, "wards.json")
	err = errors.Join(s.EnsureCollections(ctx, []store.Collection{folder.Collection}), os.WriteFile(wards, []byte(`{"title": "Ward"}`), 0o600))
	if err != nil {
		fmt.Println(err)
		return
	}
	opened, err := folder.Open(place)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer opened.Close()
	recorder := folder.Record(opened)
	_, err = fs.ReadFile(recorder, "wards.json") // as schema.Load does
	register := folder.NewRegister(s, "host:8080")
	_, wrong := register.Keep(ctx, "the digest of the set", recorder)
	fmt.Println(err, wrong, register.Number("the digest of the set"))

	fmt.Println(os.WriteFile(wards, []byte(`{"title": `), 0o600))
	packed, _, err := folder.Packed(ctx, s, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := folder.Unpack(packed)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := fs.ReadFile(set, "wards.json")
	fmt.Println(string(text), err)
	// Output:
	// <nil> <nil> 1
	// <nil>
	// {"title": "Ward"} <nil>
}
