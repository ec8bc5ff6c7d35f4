package layout

// builder collects the pieces of a template while its html is parsed.
type builder struct {
	html   string
	pieces []piece
	at     int
	faults []faultAt
	// steps counts the bytes, slots and attributes examined, for tests.
	steps int
}

// upTo adds the literal text before an offset.
func (b *builder) upTo(offset int) {
	if offset > b.at {
		b.pieces = append(b.pieces, piece{literal: b.html[b.at:offset]})
		b.at = offset
	}
}

func (b *builder) slot(s *slot, where place) {
	b.upTo(s.start)
	b.pieces = append(b.pieces, piece{slot: s, place: where})
	b.at = s.end
}

func (b *builder) url(u *url, start, end int) {
	b.upTo(start)
	b.pieces = append(b.pieces, piece{url: u})
	b.at = end
}

func (b *builder) refuse(kind Kind, slots []slot) {
	for i := range slots {
		b.faults = append(b.faults, faultAt{kind: kind, offset: slots[i].start, tag: slots[i].tag})
		b.at = max(b.at, slots[i].end)
	}
}

// within returns the slots in [start,end) of an ordered list.
func (b *builder) within(slots []slot, start, end int) []slot {
	first := 0
	for first < len(slots) && slots[first].start < start {
		first++
	}
	last := first
	for last < len(slots) && slots[last].start < end {
		last++
	}
	b.steps += last + 1
	return slots[first:last]
}

// inReference reports whether a character reference may be open at the end of a
// text, so that a value would be read as its name.
func (b *builder) inReference(text string) bool {
	i := len(text)
	for i > 0 && (isWord(text[i-1]) || text[i-1] == '#') {
		i--
	}
	b.steps += len(text) - i + 1
	return i > 0 && text[i-1] == '&'
}
