package write

import (
	"path/filepath"
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/engine/store/sqlite"
	"marquee/engine/write/numbers"
)

// TestNumbersOfABatchGrow: when numbers are reserved while a run lacks one, no later object
// of the batch gets a lower number than the one that lacks it.
func TestNumbersOfABatchGrow(t *testing.T) {
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "numbers.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.EnsureCollections(t.Context(), []store.Collection{numbers.Collection}); err != nil {
		t.Fatal(err)
	}
	reserve := numbers.New(s, time.Now)
	n := &numbering{reserve: reserve, lacks: numbers.Lacking{}}
	number := func(id string) int64 {
		return n.number(numbered{objectKey{"invoices", "main", id}, "number"}, 1)
	}
	number("first")
	lacks := n.lacks
	err = reserve.Run(t.Context(), func() error {
		if number("second"); len(lacks) > 0 {
			defer func() { lacks = nil }()
			return lacks
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n.lacks = numbers.Lacking{}
	if first, second := number("first"), number("second"); first >= second {
		t.Errorf("the numbers are %d and %d", first, second)
	}
}
