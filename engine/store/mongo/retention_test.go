package mongo

import (
	"testing"
	"time"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// TestPositionsAfterRemoval checks which positions continue when changes have been removed:
// those behind the removed changes, in the stream and in the stored changes.
func TestPositionsAfterRemoval(t *testing.T) {
	s := openTest(t, Options{URI: mongodb.URI(t)})
	ctx := t.Context()
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 6 {
		err := s.Write(ctx, func(tx store.Tx) error {
			return tx.Append(ctx, []store.Change{{Time: begin.AddDate(0, 0, n), Collection: "things", ID: "a", Revision: int64(n + 1), Version: int64(n + 1), Fields: []byte("[]")}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	err := s.Read(ctx, func(v store.Snapshot) error {
		ids = nil
		changes, err := v.ScanHistory(ctx, "things", "", 10)
		for _, c := range changes {
			ids = append(ids, c.Position)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	streamed, _, err := s.Changes(ctx, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, func(tx store.Tx) error {
		n, err := tx.RemoveChanges(ctx, begin.AddDate(0, 0, 3), 10)
		if n != 3 {
			t.Errorf("%d were removed", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	now, err := s.clusterTime(ctx)
	if err != nil {
		t.Fatal(err)
	}
	behind := func(at position) (int, store.Code) {
		changes, _, err := s.Changes(ctx, at.String(), 10)
		code, _ := store.CodeOf(err)
		if err != nil && code != store.CodeTooOld {
			t.Errorf("%v: %v", at, err)
		}
		return len(changes), code
	}
	for i, id := range ids {
		for _, repeats := range []bool{false, true} {
			n, code := behind(position{horizon: now, repeats: repeats, id: id})
			if tooOld := code == store.CodeTooOld; tooOld != (i < 2) || !tooOld && n != 5-i {
				t.Errorf("behind change %d (repeats: %t) are %d, with code %d", i, repeats, n, code)
			}
		}
	}
	if n, code := behind(position{horizon: now, repeats: true}); code != store.CodeTooOld {
		t.Errorf("the fallback of an old position returns %d, with code %d", n, code)
	}
	for i, c := range streamed {
		changes, _, err := s.Changes(ctx, c.Position, 10)
		if code, _ := store.CodeOf(err); i < 2 && code != store.CodeTooOld || i >= 2 && (err != nil || len(changes) != 5-i) {
			t.Errorf("behind change %d in the stream are %d, %v", i, len(changes), err)
		}
	}
	forgotten, _ := parsePosition(streamed[0].Position)
	f := follower{s: s, at: forgotten, limit: 10}
	if err := f.fallBack(ctx); err != nil {
		t.Fatal(err)
	}
	if err := f.read(ctx); err == nil {
		t.Errorf("a position that the oplog has forgotten returns %d", len(f.found))
	}
}

// TestPositionInsideOfRemoval checks that a position inside a transaction of which changes behind it
// have been removed is answered with all changes behind it, from the oplog, and refused once the
// oplog has forgotten them.
func TestPositionInsideOfRemoval(t *testing.T) {
	s := openTest(t, Options{URI: mongodb.URI(t)})
	ctx := t.Context()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	start, err := s.End(ctx)
	if err != nil {
		t.Fatal(err)
	}
	write := func(fn func(tx store.Tx) error) {
		t.Helper()
		if err := s.Write(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx store.Tx) error {
		var changes []store.Change
		for n := range 6 {
			changes = append(changes, store.Change{Time: at, Collection: "things", ID: "a", Revision: int64(n + 1), Version: int64(n + 1), Fields: []byte("[]")})
		}
		return tx.Append(ctx, changes)
	})
	passed, inside, err := s.Changes(ctx, start, 2)
	if err != nil || len(passed) != 2 {
		t.Fatal(len(passed), err)
	}
	write(func(tx store.Tx) error {
		n, err := tx.RemoveChanges(ctx, at.AddDate(0, 0, 1), 4)
		if n != 4 {
			t.Errorf("%d were removed", n)
		}
		return err
	})
	behind, _, err := s.Changes(ctx, inside, 10)
	if err != nil || len(behind) != 4 || behind[0].Version != 3 {
		t.Errorf("behind the position are %d changes, %v", len(behind), err)
	}
	forgotten, _ := parsePosition(inside)
	f := follower{s: s, at: forgotten, limit: 10}
	if err := f.fallBack(ctx); err != nil {
		t.Fatal(err)
	}
	if code, _ := store.CodeOf(f.read(ctx)); code != store.CodeTooOld {
		t.Errorf("a position that the oplog has forgotten returns %d changes, with code %d", len(f.found), code)
	}
}
