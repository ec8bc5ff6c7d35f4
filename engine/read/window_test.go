package read

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	"marquee/engine/store"
)

// Readers find in a window what follows any position that it has, and nothing after others.
func TestWindow(t *testing.T) {
	var w window
	w.reset("0")
	w.began = time.Now().Add(time.Hour)
	number := 0
	for step := range 50 {
		var some []store.Change
		for range step % 70 {
			number++
			some = append(some, store.Change{Position: fmt.Sprint(number), ID: fmt.Sprint(number), Fields: make([]byte, step*200)})
		}
		w.add(some, fmt.Sprintf("after %d", number))
		known := 0
		for at := range number + 1 {
			changes, next, found := w.after(fmt.Sprint(at), 10)
			if !found {
				continue
			}
			known++
			for i, c := range changes {
				if c.ID != fmt.Sprint(at+1+i) {
					t.Fatalf("change %d after %d is %s", i, at, c.ID)
				}
			}
			if want := min(10, number-at); len(changes) != want || want < number-at && next != fmt.Sprint(at+10) || want == number-at && next != w.end {
				t.Fatalf("%d changes after %d of %d, then %s", len(changes), at, number, next)
			}
		}
		if len(w.changes) > maxWindow || w.size > maxWindowBytes || len(w.marks) > len(w.changes)+step+2 || len(w.behind) != len(w.marks) {
			t.Fatalf("the window has %d changes, %d bytes, %d positions", len(w.changes), w.size, len(w.marks))
		}
		if known == 0 || known > maxWindow+1 {
			t.Fatalf("%d positions are known", known)
		}
	}
	if _, _, known := w.after("1", 10); known {
		t.Error("the window still has the first change")
	}
	w.began = time.Now().Add(-2 * windowTime)
	if _, _, known := w.after(fmt.Sprint(number-1), 10); known {
		t.Error("changes are kept for long")
	}
	if changes, next, known := w.after(w.end, 10); !known || len(changes) > 0 || next != w.end {
		t.Errorf("those who have read all find %d changes, then %s (%t)", len(changes), next, known)
	}
	w.reset("")
	if _, _, known := w.after(fmt.Sprint(number), 10); known {
		t.Error("without a follower, a position is known")
	}
}

// What a window has dropped takes no memory.
func TestWindowIsBounded(t *testing.T) {
	var w window
	w.reset("0")
	w.began = time.Now().Add(time.Hour)
	number := 0
	one := func(size int) weak.Pointer[byte] {
		fields := make([]byte, size)
		number++
		w.add([]store.Change{{Position: fmt.Sprint(number), Fields: fields}}, fmt.Sprint(number))
		return weak.Make(&fields[0])
	}
	for range maxWindow {
		one(16)
	}
	var large []weak.Pointer[byte]
	for range 200 {
		large = append(large, one(200_000))
	}
	runtime.GC()
	kept := 0
	for _, fields := range large {
		if fields.Value() != nil {
			kept++
		}
	}
	if kept*200_000 > maxWindowBytes {
		t.Errorf("%d of %d large changes are in memory", kept, len(large))
	}
	runtime.KeepAlive(&w)
}

// A reader whose network has no changes keeps up with the follower, however many others have and
// however long it waits.
func TestQuietNetworks(t *testing.T) {
	e := &Reader{}
	e.following.readers, e.following.running = map[*Waiter]bool{}, true // without a store to follow
	quiet, busy := e.Wait(Feed{Network: "quiet"}), e.Wait(Feed{Network: "busy"})
	reads := func(w *Waiter, position, wantNext string, want int) {
		t.Helper()
		changes, next, known := w.recent(position, 10)
		if known != (wantNext != "") || next != wantNext || len(changes) != want {
			t.Errorf("%s reads %d changes after %q, then %q (%t), and not %d and %q", w.network, len(changes), position, next, known, want, wantNext)
		}
	}
	passed := func(network, position string) {
		e.passed([]store.Change{{Network: network, Position: position}}, position, 0)
		e.following.window.began = time.Now().Add(-2 * windowTime) // it is forgotten before anybody reads
	}
	e.following.began("0")
	reads(quiet, "0", "0", 0)
	reads(busy, "0", "0", 0)
	passed("busy", "1")
	passed("busy", "2")
	reads(busy, "0", "", 0)
	reads(quiet, "1", "", 0)
	reads(quiet, "0", "2", 0)
	passed("busy", "3")
	reads(quiet, "2", "3", 0)
	passed("quiet", "4")
	reads(quiet, "3", "", 0)

	quiet.reached("2") // which is forgotten
	reads(quiet, "2", "", 0)
	e.passed([]store.Change{{Network: "quiet", Position: "5"}, {Network: "busy", Position: "6"}}, "6", 0)
	quiet.reached("4")
	reads(quiet, "4", "6", 2)
	e.passed([]store.Change{{Network: "busy", Position: "7"}}, "7", 0)
	busy.reached("6")
	quiet.reached("6")
	passed("busy", "8")
	reads(busy, "6", "", 0)
	reads(quiet, "6", "8", 0)
	e.following.began("9") // it has begun anew, and does not know what it has missed
	reads(quiet, "8", "", 0)
}
