// Package turn decides who goes next where several callers wait for something scarce:
// places of a limited number (Places), or whatever else a Queue's user gives out. It
// imports nothing of the project. Begin reading with Places.Enter.
package turn

import (
	"iter"
	"slices"
)

// Queue holds waiting items of several callers, who take turns: the next one is the
// caller from whom an item was taken the longest time ago, however many items of a
// caller wait. Items of one caller keep their order. It is not safe for concurrent use;
// the zero Queue is empty.
type Queue[T comparable] struct {
	// callers have waiting items, the next caller first.
	callers []*waiting[T]
	length  int
}

type waiting[T any] struct {
	caller string
	items  []T
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return q.length }

// Waiting returns the number of a caller's items.
func (q *Queue[T]) Waiting(caller string) int {
	if i := q.find(caller); i >= 0 {
		return len(q.callers[i].items)
	}
	return 0
}

// Push adds an item behind the others of its caller. A caller without items comes
// behind all other callers.
func (q *Queue[T]) Push(caller string, item T) {
	i := q.find(caller)
	if i < 0 {
		i, q.callers = len(q.callers), append(q.callers, &waiting[T]{caller: caller})
	}
	q.callers[i].items = append(q.callers[i].items, item)
	q.length++
}

// Firsts yields the first item of each caller, the next caller first. The loop may
// take or remove items only if it then ends.
func (q *Queue[T]) Firsts() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, w := range q.callers {
			if !yield(w.caller, w.items[0]) {
				return
			}
		}
	}
}

// Take removes the first item of a caller, who has one, and puts the caller behind the
// others.
func (q *Queue[T]) Take(caller string) T {
	i := q.find(caller)
	w := q.callers[i]
	item := w.items[0]
	q.callers = slices.Delete(q.callers, i, i+1)
	if w.items = w.items[1:]; len(w.items) > 0 {
		q.callers = append(q.callers, w)
	}
	q.length--
	return item
}

// Remove removes an item of a caller whose turn has not come. It reports whether the
// item was there.
func (q *Queue[T]) Remove(caller string, item T) bool {
	i := q.find(caller)
	if i < 0 {
		return false
	}
	w := q.callers[i]
	at := slices.Index(w.items, item)
	if at < 0 {
		return false
	}
	if w.items = slices.Delete(w.items, at, at+1); len(w.items) == 0 {
		q.callers = slices.Delete(q.callers, i, i+1)
	}
	q.length--
	return true
}

// First returns the first item of the next caller. There must be one.
func (q *Queue[T]) First() (caller string, item T) {
	next := q.callers[0]
	return next.caller, next.items[0]
}

// Last returns the last item of the caller who has most of them. There must be one.
func (q *Queue[T]) Last() (caller string, item T) {
	most := slices.MaxFunc(q.callers, func(a, b *waiting[T]) int { return len(a.items) - len(b.items) })
	return most.caller, most.items[len(most.items)-1]
}

func (q *Queue[T]) find(caller string) int {
	return slices.IndexFunc(q.callers, func(w *waiting[T]) bool { return w.caller == caller })
}
