package location

import "strings"

// A container is a country, or a region of one, that locations are in.
type container struct{ region, country string }

// surroundings collects the containers of locations. The words of its names are
// indexed for a container only, not for each of the thousands of locations in it.
type surroundings struct {
	builder *builder
	numbers map[container]uint32
	members [][]uint32
}

func newSurroundings(b *builder) *surroundings {
	return &surroundings{builder: b, numbers: map[container]uint32{}}
}

// add adds a location to its containers.
func (s *surroundings) add(location uint32, l Location) {
	if l.Region != "" {
		s.put(location, container{l.Region, l.Country}, l.Region)
	}
	if l.Country != "" {
		s.put(location, container{country: l.Country}, l.Country)
	}
}

func (s *surroundings) put(location uint32, c container, name string) {
	number, known := s.numbers[c]
	if !known {
		number = uint32(len(s.members)) // #nosec G115 -- memory bounds the number of members far below 2^32
		s.numbers[c] = number
		s.members = append(s.members, nil)
		s.name(c, []string{name})
	}
	s.members[number] = append(s.members[number], location)
}

// name indexes the names of a container, unless it is empty.
func (s *surroundings) name(c container, names []string) {
	number, known := s.numbers[c]
	if !known {
		return
	}
	for _, name := range names {
		for _, form := range forms(name) {
			for word := range strings.FieldsSeq(form) {
				s.builder.add(s.builder.number(word), number, isContextWord)
			}
		}
	}
}
