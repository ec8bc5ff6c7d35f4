package read

import (
	"context"
	"slices"
	"sync"
	"time"

	"marquee/engine/store"
)

// Readers of feeds that have read everything wait for changes of their network. One follower for
// all of them reads the changes of the store, while there are any, and wakes those concerned.

const (
	// followEvery is the least time between the beginnings of reads, or of looks at what the store
	// knows without one, and followWait how long a read waits for changes where it can.
	followEvery = 3 * time.Millisecond
	followWait  = 250 * time.Millisecond
	// followTime bounds a read, and followRest is the pause after one that failed.
	followTime = 10 * time.Second
	followRest = 250 * time.Millisecond
)

// following are the readers that wait, and whether there is a follower for them.
type following struct {
	mu      sync.Mutex
	readers map[*Waiter]bool
	running bool
	window  window
}

// Waiter is woken by changes of a network. Close it.
type Waiter struct {
	e       *Reader
	network string
	woken   chan struct{}
	// quiet is a position behind which the follower has read no change of the network, "" for none.
	quiet string
}

// Wait returns a waiter that is woken by each change of the feed that is committed from now on,
// and perhaps without one. What was committed before is read after the call.
func (e *Reader) Wait(f Feed) *Waiter {
	w := &Waiter{e: e, network: f.Network, woken: make(chan struct{}, 1)}
	e.following.mu.Lock()
	defer e.following.mu.Unlock()
	if !e.following.running {
		e.following.readers, e.following.running = map[*Waiter]bool{}, true
		go e.follow()
	}
	e.following.readers[w] = true
	return w
}

// FollowsStore reports whether the changes of the store are being read for readers that wait.
func (e *Reader) FollowsStore() bool {
	e.following.mu.Lock()
	defer e.following.mu.Unlock()
	return e.following.running
}

// Woken has an item when there is something to read.
func (w *Waiter) Woken() <-chan struct{} { return w.woken }

// Close ends the waiting.
func (w *Waiter) Close() {
	w.e.following.mu.Lock()
	defer w.e.following.mu.Unlock()
	delete(w.e.following.readers, w)
}

// began notes where the follower begins, and wakes all readers.
func (f *following) began(position string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window.reset(position)
	f.wake(nil)
}

// passed notes changes that the follower has read, and wakes the readers whom they concern.
func (e *Reader) passed(changes []store.Change, end string, forgotten int64) {
	f := &e.following
	networks := map[string]bool{}
	for i := range changes {
		networks[changes[i].Network] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if forgotten == e.forgotten.Load() {
		f.window.add(changes, end)
	} else {
		f.window.reset(end)
	}
	f.wake(networks)
}

// recent returns changes after a position that the follower has read, without those of other
// networks if there are only such.
func (w *Waiter) recent(position string, limit int) (changes []store.Change, next string, known bool) {
	f := &w.e.following
	f.mu.Lock()
	defer f.mu.Unlock()
	if known = position != "" && position == w.quiet; known {
		next = f.window.end
	} else {
		changes, next, known = f.window.after(position, limit)
	}
	if known && next == f.window.end {
		w.quiet = next
	}
	return changes, next, known
}

// reached notes the position up to which the reader has read the store.
func (w *Waiter) reached(position string) {
	f := &w.e.following
	f.mu.Lock()
	defer f.mu.Unlock()
	changes, _, known := f.window.after(position, maxWindow)
	if known && !slices.ContainsFunc(changes, func(c store.Change) bool { return c.Network == w.network }) {
		w.quiet = position
	}
}

// wake wakes the readers of some networks; nil stands for all. The lock must be held.
func (f *following) wake(networks map[string]bool) {
	for w := range f.readers {
		if networks == nil || networks[w.network] {
			w.quiet = ""
			select {
			case w.woken <- struct{}{}:
			default: // it has not read yet
			}
		}
	}
}

// idle reports whether there are no readers, and that the follower then ends.
func (f *following) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running = len(f.readers) > 0; !f.running {
		f.window.reset("")
	}
	return !f.running
}

// follow wakes the readers until there are none.
func (e *Reader) follow() {
	position, seen := "", ""
	var next time.Time // when the next read may begin
	for ; ; time.Sleep(time.Until(next)) {
		if e.following.idle() {
			return
		}
		next = time.Now().Add(followEvery)
		if e.Store.Serial() { // which does not wait for changes
			var names []string
			for _, t := range e.Registry().Types() {
				names = append(names, t.Name)
			}
			revision, known := e.Store.Recent(names...)
			if known && position != "" && revision == seen {
				continue
			}
			seen = revision
		}
		var err error
		if position, err = e.followFrom(position); err != nil {
			next, position = time.Now().Add(followRest), ""
		}
	}
}

// followFrom wakes the readers that changes after a position concern, and returns the position
// behind them. Without a position, it wakes all.
func (e *Reader) followFrom(position string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), followTime)
	defer cancel()
	if position == "" {
		position, err := e.Store.End(ctx)
		e.following.began(position)
		return position, err
	}
	for {
		forgotten := e.forgotten.Load()
		changes, next, err := e.Store.Changes(store.WithEffort(ctx, store.Effort{Wait: followWait}), position, changesAtOnce)
		if err != nil {
			return "", err
		}
		e.passed(changes, next, forgotten)
		if position = next; !store.Full(changes, changesAtOnce) {
			return position, nil
		}
	}
}
