package mongo

import (
	"context"
	"testing"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestGroupsWithoutCommit checks that no call of a group is refused because of what
// another call of it has written, or the value that it has claimed, when the commit of
// the group fails in any way.
func TestGroupsWithoutCommit(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, mongodb.Lend(t))
	g := &grouped{T: t, s: f.s, commands: map[string]int{}}
	key := store.Key{Network: faultNetwork, ID: "wanted"}
	claim := store.Claim{Collection: faultThings, Network: faultNetwork, Property: "p", Value: "wanted"}
	for _, code := range representatives {
		ctx, cancel := context.WithTimeout(t.Context(), 5*short)
		var calls []func() error
		for i := range 6 {
			own := key
			if i%2 == 0 {
				own = numbered(i)
			}
			calls = append(calls, g.callIn(ctx, own, func(ctx context.Context, tx store.Tx) error {
				there := false
				err := tx.Get(ctx, faultThings, []store.Key{own}, func(*store.Record) error { there = true; return nil })
				if err != nil {
					return err
				}
				owners, err := tx.Claims(ctx, []store.Claim{claim})
				if err != nil || there || owners[claim] != "" {
					return cmpError(err, errOwn)
				}
				return tx.Put(ctx, faultThings, []store.Write{{Record: faultRecord(own, 1), AddClaims: []store.Claim{claim}}})
			}))
		}
		f.failing(failPoint{commitStep, faultCode(code), 0}, func() {
			for i, err := range gathered(f.s, calls...) {
				if _, ok := store.CodeOf(err); !ok {
					t.Errorf("commits fail with %d: call %d: %v", code, i, err)
				}
			}
		})
		cancel()
		f.nothingOpen("after the group", 5*short)
	}
	if err := f.other.Read(t.Context(), func(snapshot store.Snapshot) error {
		owners, err := snapshot.Claims(t.Context(), []store.Claim{claim})
		if len(owners) > 0 {
			t.Errorf("the value belongs to %v", owners)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
