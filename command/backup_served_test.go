package command

import (
	"strings"
	"testing"
	"time"
)

// TestNoteBackup: a last backup that is too old has a note, as has one whose time is in the
// future, which would otherwise hide for how long there has been none.
func TestNoteBackup(t *testing.T) {
	now := time.Now()
	s := &service{}
	for _, c := range []struct {
		age  time.Duration
		last time.Time
		want string
	}{
		{0, now.Add(-time.Hour), ""},
		{2 * time.Hour, now.Add(-time.Hour), ""},
		{time.Minute, now.Add(-time.Hour), "which is longer ago than 1m0s"},
		{2 * time.Hour, now.Add(time.Hour), "which is in the future"},
	} {
		s.backups.age = c.age
		s.backups.last.Store(c.last.UnixNano())
		if note := s.noteBackup(now); !strings.Contains(note, c.want) || c.want == "" && note != "" {
			t.Errorf("%v: %q", c, note)
		}
	}
}
