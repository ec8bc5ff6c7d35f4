package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// withoutPaths shortens the path of the folder of schemas in a text to its name:
// anybody can read /readyz, and the log has the path.
func withoutPaths(text, folder string) string {
	if folder == "" {
		return text
	}
	name := filepath.Base(folder)
	for _, path := range []string{folder, filepath.Clean(folder)} {
		if path != name {
			text = strings.ReplaceAll(text, path, name)
		}
	}
	return text
}

// notes are what /readyz adds to its answer.
func (s *service) notes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := map[string]string{}
	if s.note != "" {
		notes["schemas"] = s.note
	}
	if outdated := s.Engine().Outdated(); len(outdated) > 0 {
		notes["outdated"] = "another server serves newer schemas of these types, or is of a newer version: they can be read here, but not written, or not with all of their properties: " + strings.Join(outdated, ", ")
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
