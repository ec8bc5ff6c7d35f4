package write

import (
	"sync"

	"marquee/engine/store"
)

// sizes knows how large the stored objects of each type are. It is safe for
// concurrent use.
type sizes struct {
	// byType holds an int by the name of a type: the mean of the objects that were
	// loaded or written lately, or more.
	byType sync.Map
}

// of returns the expected size of a document of a type in bytes: the largest size
// until one is known.
func (s *sizes) of(name string) int {
	if size, known := s.byType.Load(name); known {
		return size.(int)
	}
	return MaxDocumentBytes
}

// learnWritten takes note of objects that are written.
func (s *sizes) learnWritten(name string, writes []store.Write) {
	bytes := 0
	for i := range writes {
		bytes += len(writes[i].Document)
	}
	s.learn(name, len(writes), bytes)
}

// learn takes note of some objects and the size of all their documents. Large ones are forgotten slowly.
func (s *sizes) learn(name string, objects, bytes int) {
	if objects == 0 {
		return
	}
	size := max(1, bytes/objects)
	before, known := s.byType.Load(name)
	if known {
		size = max(size, before.(int)*7/8)
	}
	if !known || size != before.(int) {
		s.byType.Store(name, size)
	}
}
