package read

import (
	"errors"
	"slices"

	"marquee/engine/document"
)

// MaxPageBytes is the maximum size of a list response: a page that would exceed
// it ends early. A single larger object is a page of its own.
const MaxPageBytes = 8 << 20

// Page is a rendered page of a list.
type Page struct {
	// Body is the response body, in parts.
	Body [][]byte
	// Items is the number of items of the page.
	Items int
	// Truncated reports whether the page ended early because of MaxPageBytes.
	Truncated bool
	// Doubt reports whether a page that a reader follows leaves out objects of the list because
	// their owners are in doubt.
	Doubt bool
	// Next is the cursor of the next page, "" for none.
	Next string
}

// partBytes is the size at which a part of a body is complete. A large body in
// a single slice would be copied, and held twice, as it grows.
const partBytes = 256 << 10

// PageWriter writes the body of a page item by item.
type PageWriter struct {
	parts     [][]byte
	out       []byte
	size      int // of the parts
	items     int
	expected  int // items, as far as is known
	truncated bool
}

// Begin writes the beginning of the object, up to the [ of the items.
func (w *PageWriter) Begin(text []byte) { w.out = append(w.out, text...) }

// Truncated reports whether the page is full: an item and all after it were left
// out.
func (w *PageWriter) Truncated() bool { return w.truncated }

// Add appends one item, which render appends to its argument. An item that would
// make the page too large is left out, and so are all later ones.
func (w *PageWriter) Add(render func(dst []byte) ([]byte, error)) error {
	if w.truncated {
		return nil
	}
	start := len(w.out)
	if w.items > 0 {
		w.out = append(w.out, ',')
	}
	out, err := render(w.out)
	if err != nil {
		return err
	}
	w.out = out
	if w.items > 0 && w.size+len(w.out) > MaxPageBytes {
		w.out, w.truncated = w.out[:start], true
		return nil
	}
	w.items++
	w.expected--
	size := len(w.out) - start
	if len(w.out) >= partBytes {
		w.size += len(w.out)
		w.parts, w.out = append(w.parts, w.out), nil
	}
	w.grow(size)
	return nil
}

// grow makes room in the part for the expected items, as if they were of the size
// of the last one.
func (w *PageWriter) grow(item int) {
	if w.expected > 0 && item < partBytes && cap(w.out)-len(w.out) < item {
		w.out = slices.Grow(w.out, min(w.expected*item, partBytes-len(w.out))+item)
	}
}

// End writes further members of the object, each preceded by a comma, and
// completes the page.
func (w *PageWriter) End(members []byte) Page {
	w.out = append(append(w.out, ']'), members...)
	if w.truncated {
		w.out = append(w.out, `,"truncated":true`...)
	}
	return Page{Body: append(w.parts, append(w.out, '}')), Items: w.items, Truncated: w.truncated}
}

// finish completes a page with the cursor of the next one, "" for none.
func (w *PageWriter) finish(next string) Page {
	if next == "" {
		return w.End(nil)
	}
	page := w.End(document.AppendString([]byte(`,"nextCursor":`), next))
	page.Next = next
	return page
}

// maxPieceBytes bounds the stored data in memory while a page is rendered. A
// single item may exceed it.
const maxPieceBytes = 2 << 20

// errFull ends a read of the store early.
var errFull = errors.New("engine: enough has been read")

// source provides the items of a page.
type source[T any] struct {
	// find yields at most limit items after those already shown. An item is valid
	// until yield returns; keep copies it, and size is its size in memory.
	find func(limit int, yield func(T) error) error
	size func(T) int
	keep func(T) T
	// show adds items to the page until it is truncated.
	show func(items []T) error
}

// fill adds items to a page, in pieces of maxPieceBytes, until it has pageSize
// items, is truncated, or the source has no more. It reports whether the source
// has more.
func fill[T any](w *PageWriter, pageSize int, from source[T]) (more bool, err error) {
	// One more item than the page takes shows whether there is a next page.
	for atOnce := pageSize + 1; ; {
		left := pageSize - w.items
		limit := min(atOnce, left+1)
		var items []T
		size, found, cut := 0, 0, false
		err := from.find(limit, func(item T) error {
			if found++; len(items) == left {
				more = true
				return errFull
			}
			if size += from.size(item); size > maxPieceBytes && len(items) > 0 {
				cut = true
				return errFull
			}
			items = append(items, from.keep(item))
			return nil
		})
		if err != nil && !errors.Is(err, errFull) {
			return false, err
		}
		w.expected = len(items)
		if err := from.show(items); err != nil {
			return false, err
		}
		switch {
		case w.truncated:
			return true, nil
		case !cut && (more || found < limit):
			return more, nil
		}
		// Later items are probably of a similar size: the store need not prepare
		// more of them than the next piece takes.
		atOnce = 2*len(items) + 1
	}
}
