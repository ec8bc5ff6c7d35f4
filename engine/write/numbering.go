package write

import (
	"slices"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
	"marquee/engine/write/numbers"
)

// numbering gives the new objects of a call their numbers. An object keeps its numbers
// when the transaction runs again.
type numbering struct {
	given map[numbered]int64
	// clashes is the number of runs that have met numbers which other objects have.
	clashes int
}

// numbered is a property of a new object.
type numbered struct {
	objectKey
	property string
}

// giveBack gives the numbers of objects that were refused back to the server.
func (n numbering) giveBack(to *numbers.Reserve) {
	given := map[numbers.Sequence][]int64{}
	for of, number := range n.given {
		given[of.sequence()] = append(given[of.sequence()], number)
	}
	to.GiveBack(given)
}

// maxClashes bounds the runs of a transaction that meet numbers of other objects. Each
// skips twice as many as the one before, so that no number is beyond their reach.
const maxClashes = 60

// supply sets the properties of a new object that the service supplies.
func (w *Writing) supply(c *Change) {
	at := &keyword.Creation{Time: w.now, User: w.caller.User}
	at.Number = func(s keyword.Sequence) int64 { return w.number(c.numbered(at.Property), s.Start) }
	c.supplied = c.Type.Supply(c.After, at)
}

// number returns the number of a property. When the server has none, it is one that is
// validated in its place, before the transaction runs again; a call that only validates
// reserves none.
func (w *Writing) number(of numbered, start int64) int64 {
	if n, given := w.numbering.given[of]; given && n >= start {
		return n
	}
	if !w.batch.ValidateOnly {
		if n, ok := w.e.numbers.Take(of.sequence(), start); ok {
			if w.numbering.given == nil {
				w.numbering.given = map[numbered]int64{}
			}
			w.numbering.given[of] = n
			return n
		}
	}
	before := w.lacks[of.sequence()].Count
	w.lacks.Add(of.sequence(), numbers.Need{Count: 1, Start: start})
	return w.e.numbers.Next(of.sequence(), start) + before
}

// needNumbers ends a run that lacks numbers, of a round that is valid otherwise: a call that
// is refused reserves none. No server may reserve the numbers that an import gives.
func (w *Writing) needNumbers() error {
	for _, c := range w.round {
		for property, s := range c.Type.Sequences() {
			n, is := s.Number(c.After[property])
			given := !slices.Contains(c.supplied, property) && !document.Equal(c.Before[property], c.After[property])
			if of := c.numbered(property); is && given && !w.e.numbers.Has(of.sequence(), numbers.Need{Floor: n + 1}) {
				w.lacks.Add(of.sequence(), numbers.Need{Floor: n + 1})
			}
		}
	}
	if len(w.lacks) == 0 || w.batch.ValidateOnly {
		return nil
	}
	if w.clashed {
		w.numbering.clashes++
	}
	w.unload(w.round)
	return w.lacks
}

// skip makes an object get another number if the service has given it that of another
// object, which an import has brought, or which is older than the sequence. It reports
// whether a claim is on such a number.
func (w *Writing) skip(c *Change, claim store.Claim) bool {
	s, is := c.Type.Sequences()[claim.Property]
	if !is || !slices.Contains(c.supplied, claim.Property) || w.numbering.clashes > maxClashes {
		return false
	}
	of := c.numbered(claim.Property)
	if n, given := w.numbering.given[of]; given {
		delete(w.numbering.given, of)
		w.clashed = true
		w.lacks.Add(of.sequence(), numbers.Need{Count: 1, Start: s.Start, Floor: min(n+1<<w.numbering.clashes, keyword.MaxNumber)})
	}
	return true
}

func (c *Change) numbered(property string) numbered { return numbered{c.key(), property} }

func (n numbered) sequence() numbers.Sequence {
	return numbers.Sequence{Collection: n.collection, Network: n.network, Property: n.property}
}

// importedNumbers returns the values of sequences that an import brings.
func (c *Change) importedNumbers() map[string]any {
	imported := map[string]any{}
	for property := range c.Type.Sequences() {
		if value := c.op.Object[property]; value != nil && c.Caller.System {
			imported[property] = value
		}
	}
	return imported
}
