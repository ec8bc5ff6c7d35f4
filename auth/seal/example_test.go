package seal_test

import (
	"bytes"
	"fmt"

	"marquee/auth/seal"
	"marquee/engine/catalog"
	"marquee/engine/document"
)

// A secret can only be decrypted at its place in the store. When the key is replaced,
// the key before it still decrypts what it has encrypted.
func ExampleSealer() {
	first := bytes.Repeat([]byte{1}, seal.KeyBytes) // a real one comes from a key file
	second := bytes.Repeat([]byte{2}, seal.KeyBytes)
	sealer, err := seal.New(first)
	if err != nil {
		fmt.Println(err)
		return
	}
	at := catalog.SecretPlace("accounts", "main", "a1", document.Pointer{"password"})
	sealed, err := sealer.Seal("hunter2", at)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sealer.Open(sealed, at))
	_, err = sealer.Open(sealed, catalog.SecretPlace("accounts", "main", "a2", document.Pointer{"password"}))
	fmt.Println("opens elsewhere:", err == nil)

	if err := sealer.Use(second); err != nil {
		fmt.Println(err)
	}
	fmt.Println("outdated:", sealer.Outdated([]byte(`{"password":"`+sealed+`"}`)))
	fmt.Println(sealer.Open(sealed, at))

	later, err := seal.New(second) // lacks the first key
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = later.Open(sealed, at)
	fmt.Println("opens without the first key:", err == nil)
	// Output:
	// hunter2 <nil>
	// opens elsewhere: false
	// outdated: true
	// hunter2 <nil>
	// opens without the first key: false
}
