package mongo

import (
	"context"
	"testing"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestSettleOfOtherDatabases: Settle does not wait for the transactions of servers that
// use another database.
func TestSettleOfOtherDatabases(t *testing.T) {
	t.Parallel()
	s, other := openTest(t, Options{URI: mongodb.URI(t)}), openTest(t, Options{URI: mongodb.URI(t)})
	if err := other.EnsureCollections(t.Context(), []store.Collection{{Name: faultThings}}); err != nil {
		t.Fatal(err)
	}
	err := other.Write(t.Context(), func(tx store.Tx) error {
		if err := countUp(t.Context(), tx, hotKey); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), goneAfter)
		defer cancel()
		return s.Settle(ctx)
	})
	if err != nil {
		t.Error(err)
	}
}
