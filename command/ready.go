package command

import (
	"fmt"
	"time"
)

// seeLog ends the notes on schemas. Anybody can read them, and not know each type and property.
const seeLog = "the log has the details"

// notes are what /readyz adds to its answer.
func (s *service) notes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := map[string]string{}
	if s.note != "" {
		notes["schemas"] = s.note
	}
	if outdated := s.Engine().Outdated(); len(outdated) > 0 {
		notes["outdated"] = fmt.Sprintf("another server serves newer schemas, or is of a newer version: objects of some types can be read here, but not written, or not with all of their properties: %d", len(outdated))
	}
	if f := s.Engine().Following(); f.Changed > 0 {
		notes["following"] = fmt.Sprintf("changed objects whose dependants have not all followed yet: %d, the oldest for %s", f.Changed, max(0, time.Since(f.Since)).Round(time.Second))
	}
	if note := s.resealing.note(); note != "" {
		notes["secrets"] = note
	}
	if noted, ok := s.Store().(interface{ Note() string }); ok && noted.Note() != "" {
		notes["store"] = noted.Note()
	}
	return notes
}
