package read

import (
	"slices"
	"time"

	"marquee/engine/store"
)

// maxWindow and maxWindowBytes bound the changes that a window keeps, and windowTime how long: values
// that another server erases from the store must not be shown for long (Forget).
const (
	maxWindow, maxWindowBytes = 1000, 4 << 20
	windowTime                = time.Second
)

// window has the last changes that the follower has read, so that the readers which keep up with
// it need not read them from the store again. The others do.
type window struct {
	changes []store.Change
	size    int
	// begin is the number of changes that are no longer kept. Behind has, for positions, the number
	// of the changes before them, and marks these positions in their order.
	begin  int
	behind map[string]int
	marks  []string
	// end is the position behind the last change.
	end   string
	began time.Time
}

// reset makes the window begin at a position, which is "" if there is no follower.
func (w *window) reset(position string) {
	*w = window{behind: map[string]int{}, began: time.Now()}
	if position != "" {
		w.mark(position)
	}
}

func (w *window) mark(position string) {
	w.end = position
	if _, known := w.behind[position]; !known {
		w.marks = append(w.marks, position)
	}
	w.behind[position] = w.begin + len(w.changes)
}

// add adds changes, and the position behind them.
func (w *window) add(changes []store.Change, end string) {
	w.expire()
	for i := range changes {
		w.changes = append(w.changes, changes[i])
		w.size += changes[i].Size()
		w.mark(changes[i].Position)
	}
	w.mark(end)
	drop := 0
	for len(w.changes)-drop > maxWindow || w.size > maxWindowBytes {
		w.size -= w.changes[drop].Size()
		drop++
	}
	clear(w.changes[:drop]) // which the array keeps
	w.changes, w.begin = w.changes[drop:], w.begin+drop
	for len(w.marks) > 0 && w.behind[w.marks[0]] < w.begin {
		delete(w.behind, w.marks[0])
		w.marks = w.marks[1:]
	}
}

// expire drops changes that have been kept for long.
func (w *window) expire() {
	if time.Since(w.began) > windowTime {
		w.reset(w.end)
	}
}

// after returns at most limit changes after a position, as Store.Changes does; known is false if
// the window does not have the position.
func (w *window) after(position string, limit int) (changes []store.Change, next string, known bool) {
	w.expire()
	before, known := w.behind[position]
	if !known {
		return nil, "", false
	}
	changes = w.changes[before-w.begin:]
	if len(changes) <= limit {
		return slices.Clone(changes), w.end, true
	}
	return slices.Clone(changes[:limit]), changes[limit-1].Position, true
}
