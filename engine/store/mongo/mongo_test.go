package mongo

import (
	"sync"
	"testing"

	"marquee/engine/store"
	"marquee/engine/store/storetest"
	"marquee/integration/mongodb"
)

// openTest opens a store on a database of its own.
func openTest(t testing.TB, options Options) *Store {
	t.Helper()
	if options.URI == "" {
		options.URI = mongodb.URI(t)
	}
	if options.Monitor == nil {
		options.Monitor = mongodb.ShardKeys(t)
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

func TestStore(t *testing.T) {
	var uris sync.Map // by store: the parts of the suite run at the same time
	open := func(t testing.TB, uri string) store.Store {
		s := openTest(t, Options{URI: uri})
		uris.Store(s, uri)
		return s
	}
	storetest.Run(t, storetest.Harness{
		Open:    func(t testing.TB) store.Store { return open(t, mongodb.URI(t)) },
		Explain: explainQuery,
		Loading: func(t testing.TB, s store.Store, loading bool) (store.Portable, error) {
			uri := any(mongodb.URI(t))
			if s != nil {
				uri, _ = uris.Load(s)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			opened, err := Open(t.Context(), Options{URI: uri.(string), Loading: loading, Monitor: mongodb.ShardKeys(t)})
			if err != nil {
				return nil, err
			}
			uris.Store(store.Store(opened), uri)
			t.Cleanup(func() { opened.Close() })
			return opened, nil
		},
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			uri, _ := uris.Load(s)
			return open(t, uri.(string))
		},
	})
}
