package write

import (
	"slices"
	"time"

	"marquee/engine/document"
	"marquee/engine/schema/keyword"
	"marquee/engine/store"
	"marquee/engine/write/numbers"
)

// numbering gives the new objects of a call their numbers. An object keeps its numbers
// when the transaction runs again.
type numbering struct {
	reserve *numbers.Reserve
	// validateOnly reports that nothing will be stored, so that no numbers are reserved.
	validateOnly bool
	given        map[numbered]int64
	// clashes is the number of runs that have met numbers which other objects have.
	clashes int
	// lacks are the numbers that the transaction needs before it runs again, and clashed
	// reports that other objects have some that were given. Each run begins without them.
	lacks   numbers.Lacking
	clashed bool
}

// numbered is a property of a new object.
type numbered struct {
	objectKey
	property string
}

// giveBack gives the numbers of objects that were refused back to the server.
func (n *numbering) giveBack() {
	given := map[numbers.Sequence][]int64{}
	for of, number := range n.given {
		given[of.sequence()] = append(given[of.sequence()], number)
	}
	n.reserve.GiveBack(given)
}

// maxClashes bounds the runs of a transaction that meet numbers of other objects. Each
// skips twice as many as the one before, so that no number is beyond their reach.
const maxClashes = 60

// supply sets the properties of a new object that the service supplies.
func (n *numbering) supply(c *Change, now time.Time, user string) {
	at := &keyword.Creation{Time: now, User: user}
	at.Number = func(s keyword.Sequence) int64 { return n.number(c.numbered(at.Property), s.Start) }
	c.supplied = c.Type.Supply(c.After, at)
}

// number returns the number of a property. When the server has none, it is one that is
// validated in its place, before the transaction runs again; a call that only validates
// reserves none.
func (n *numbering) number(of numbered, start int64) int64 {
	if number, given := n.given[of]; given && number >= start {
		return number
	}
	before := n.lacks[of.sequence()].Count
	// An object before which another one lacks a number would get a lower one, if numbers
	// have been reserved meanwhile.
	if !n.validateOnly && before == 0 {
		if number, ok := n.reserve.Take(of.sequence(), start); ok {
			if n.given == nil {
				n.given = map[numbered]int64{}
			}
			n.given[of] = number
			return number
		}
	}
	n.lacks.Add(of.sequence(), numbers.Need{Count: 1, Start: start})
	return n.reserve.Next(of.sequence(), start) + before
}

// check ends a run that lacks numbers, of a round that is valid otherwise: a call that is
// refused reserves none. No server may reserve the numbers that an import gives.
func (n *numbering) check(round []*Change) error {
	for _, c := range round {
		for property, s := range c.Type.Sequences() {
			number, is := s.Number(c.After[property])
			given := !slices.Contains(c.supplied, property) && !document.Equal(c.Before[property], c.After[property])
			if of := c.numbered(property); is && given && !n.reserve.Has(of.sequence(), numbers.Need{Floor: number + 1}) {
				n.lacks.Add(of.sequence(), numbers.Need{Floor: number + 1})
			}
		}
	}
	if len(n.lacks) == 0 || n.validateOnly {
		return nil
	}
	if n.clashed {
		n.clashes++
	}
	return n.lacks
}

// skip makes an object get another number if the service has given it that of another
// object, which an import has brought, or which is older than the sequence. It reports
// whether a claim is on such a number.
func (n *numbering) skip(c *Change, claim store.Claim) bool {
	s, is := c.Type.Sequences()[claim.Property]
	if !is || !slices.Contains(c.supplied, claim.Property) || n.clashes > maxClashes {
		return false
	}
	of := c.numbered(claim.Property)
	if number, given := n.given[of]; given {
		delete(n.given, of)
		n.clashed = true
		n.lacks.Add(of.sequence(), numbers.Need{Count: 1, Start: s.Start, Floor: min(number+1<<n.clashes, keyword.MaxNumber)})
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
