package storetest

import (
	"testing"
	"time"

	"marquee/engine/store"
)

// testRecent proves that a process notices its own writes at once.
func testRecent(t *testing.T, h Harness) {
	f := open(t, h)
	recent := func(collections ...string) string {
		t.Helper()
		for f.ctx.Err() == nil { // the first calls may not know
			if r, ok := f.s.Recent(collections...); ok {
				return r
			}
			select {
			case <-f.ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
		t.Fatal("the store never knows")
		return ""
	}
	both, thing := recent(things, others), recent(things)
	for n := range 20 {
		w := newRecord("a", `{}`)
		if n > 0 {
			r, _ := f.get(things, "a")
			w = next(r, `{}`)
		}
		f.put(things, w)
		if r := recent(things); r == thing {
			t.Fatalf("write %d: the value is the same", n)
		}
		if r := recent(things, others); r == both {
			t.Fatalf("write %d: the value of both is the same", n)
		}
		both, thing = recent(things, others), recent(things)
	}
	f.must(f.write(func(tx store.Tx) error { return store.Drop(f.ctx, tx, things, []store.Key{key("a")}) }))
	if recent(things) == thing {
		t.Error("the value is the same after a record was dropped")
	}
}
