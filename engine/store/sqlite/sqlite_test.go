package sqlite

import (
	"path/filepath"
	"testing"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/storetest"
)

// openTest opens a store in a temporary folder.
func openTest(t testing.TB, options Options) *Store {
	t.Helper()
	if options.Path == "" {
		options.Path = filepath.Join(t.TempDir(), "marquee.db")
	}
	s, err := Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) { runSuite(t, defaultRare, explainQuery) }

// TestStoreOfCommonTerms runs the suite with every term treated as common, so
// that none drives a query, and pages begin with a short walk.
func TestStoreOfCommonTerms(t *testing.T) { runSuite(t, -1, nil) }

func runSuite(t *testing.T, rare int, explain func(testing.TB, store.Store, query.Query, bool) storetest.Plan) {
	open := func(t testing.TB, options Options) store.Store {
		s := openTest(t, options)
		s.rare = rare
		if rare < 0 {
			s.walked = 5
		}
		return s
	}
	storetest.Run(t, storetest.Harness{
		Open: func(t testing.TB) store.Store { return open(t, Options{}) },
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			return open(t, Options{Path: s.(*Store).options.Path})
		},
		Loading: func(t testing.TB, s store.Store, loading bool) (store.Portable, error) {
			path := filepath.Join(t.TempDir(), "marquee.db")
			if s != nil {
				path = s.(*Store).options.Path
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			opened, err := Open(t.Context(), Options{Path: path, Loading: loading})
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { opened.Close() })
			return opened, nil
		},
		Explain: explain,
	})
}
