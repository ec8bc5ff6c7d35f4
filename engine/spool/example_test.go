package spool_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"marquee/engine/spool"
)

// A file is written once, can be read any number of times, and returns its bytes to the
// budget when it is closed.
func ExampleSpool_Create() {
	s := spool.New("", 1<<20)
	file := s.Create(context.Background(), "anna")
	if _, err := io.Copy(file, strings.NewReader("a large body")); err != nil {
		fmt.Println(err)
	}
	for range 2 {
		text, err := io.ReadAll(file.Reader())
		fmt.Println(string(text), err)
	}
	fmt.Println(file.Size(), file.Close())
	fmt.Println(s.Used())
	// Output:
	// a large body <nil>
	// a large body <nil>
	// 12 <nil>
	// 0
}
