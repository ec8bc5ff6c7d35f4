package read

import (
	"fmt"
	"testing"
	"time"

	"marquee/engine/store"
)

// What readers have not shown yet is found once, for windowTime, and takes little memory.
func TestAhead(t *testing.T) {
	e := &Reader{}
	kept := func(after string) bool {
		_, known := e.takeAhead(after)
		return known
	}
	some := []store.Change{{Position: "1", Fields: make([]byte, 100_000)}}
	for want, r := range map[bool]remainder{true: {changes: some, read: time.Now()}, false: {changes: some, read: time.Now().Add(-2 * windowTime)}} {
		if e.keepAhead(r); kept("") != want || kept("") {
			t.Errorf("what was read %v ago is kept: %t", time.Since(r.read), !want)
		}
	}
	if e.keepAhead(remainder{read: time.Now()}); kept("") {
		t.Error("nothing is kept")
	}
	if e.ahead.size != 0 {
		t.Errorf("nothing takes %d bytes", e.ahead.size)
	}
	for i := range 100 {
		e.keepAhead(remainder{after: fmt.Sprint(i), changes: some, read: time.Now()})
	}
	if size := e.ahead.size; size > maxAhead || size < maxAhead/2 || size < 100_000*len(e.ahead.kept) {
		t.Errorf("%d changes of 100,000 bytes take %d bytes", len(e.ahead.kept), size)
	}
}

// After Forget, nothing is shown that was read before.
func TestForget(t *testing.T) {
	e := &Reader{}
	e.following.readers, e.following.running = map[*Waiter]bool{}, true // without a store to follow
	w := e.Wait(Feed{})
	changes := func(at string) []store.Change { return []store.Change{{Position: at}} }
	e.following.began("0")
	e.passed(changes("1"), "1", 0)
	e.keepAhead(remainder{after: "0", changes: changes("1"), read: time.Now()})
	e.Forget()
	if _, _, known := w.recent("0", 10); known {
		t.Error("the window is kept")
	}
	e.keepAhead(remainder{after: "1", changes: changes("2"), read: time.Now()})
	e.passed(changes("2"), "2", 0)
	for _, at := range []string{"0", "1"} {
		if _, known := e.takeAhead(at); known {
			t.Errorf("what follows %s is kept for its reader", at)
		}
		if _, _, known := w.recent(at, 10); known {
			t.Errorf("what follows %s is in the window", at)
		}
	}
	e.passed(changes("3"), "3", 1)
	if some, next, known := w.recent("2", 10); !known || len(some) != 1 || next != "3" {
		t.Errorf("2 is followed by %d changes, then %s (%t)", len(some), next, known)
	}
}
