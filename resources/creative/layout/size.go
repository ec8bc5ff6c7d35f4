package layout

// sizes predict the size of a rendering, so that nothing too large is rendered.
type sizes struct {
	// empty is the size without any values.
	empty int
	// uses are the distinct uses of each tag.
	uses map[string][]use
}

// use is the number of slots with one tag in one kind of place.
type use struct {
	place place
	// url reports that the slot is part of a URL, with its properties list and raw.
	url         bool
	list, raw   bool
	times       int
	sizeOfEmpty int
}

func sizesOf(pieces []piece) sizes {
	s := sizes{uses: map[string][]use{}}
	nothing := &renderer{}
	for _, p := range pieces {
		switch {
		case p.url != nil:
			for _, part := range p.url.parts {
				if part.slot == nil {
					s.empty += len(p.url.shown(part.literal))
				} else {
					s.add(nothing, part.slot.tag, use{place: part.place, url: true, list: p.url.list, raw: p.url.raw})
				}
			}
		case p.slot == nil:
			s.empty += len(p.literal)
		default:
			s.add(nothing, p.slot.tag, use{place: p.place})
		}
	}
	return s
}

func (s *sizes) add(nothing *renderer, tag string, u use) {
	u.sizeOfEmpty = u.size(nothing, "")
	s.empty += u.sizeOfEmpty
	uses := s.uses[tag]
	for i := range uses {
		if known := &uses[i]; known.place == u.place && known.url == u.url && known.list == u.list && known.raw == u.raw {
			known.times++
			return
		}
	}
	u.times = 1
	s.uses[tag] = append(uses, u)
}

// size returns the size of a tag's value in such a place.
func (u *use) size(r *renderer, tag string) int {
	text := r.escape(tag, u.place)
	if u.url {
		in := url{list: u.list, raw: u.raw}
		text = in.shown(in.part(text))
	}
	return len(text)
}

// A byte of a value becomes at most maxGrowth bytes; quotes add maxQuotes.
const (
	maxGrowth = 6
	maxQuotes = 16
)

// fits computes the size. It escapes no values that are small enough in any case,
// and stops escaping as soon as the limit is exceeded.
func (t *Template) fits(r *renderer) bool {
	least, most := t.size.empty, t.size.empty
	for tag, value := range r.values {
		for _, u := range t.size.uses[tag] {
			if len(value.content) > MaxRendered {
				return false
			}
			most = min(most+u.times*(maxGrowth*len(value.content)+maxQuotes), 2*MaxRendered)
		}
	}
	if most <= MaxRendered {
		return true
	}
	for tag := range r.values {
		for _, u := range t.size.uses[tag] {
			if least += u.times * (u.size(r, tag) - u.sizeOfEmpty); least > MaxRendered {
				return false
			}
		}
	}
	return least <= MaxRendered
}
