package review

import (
	"testing"
	"time"

	"marquee/engine/document"
)

// A pass starts a little before the mark, so that nothing that became due meanwhile is
// missed, and never after the present: a mark that a wrong clock has put into the
// future holds nothing up.
func TestWhereAPassStarts(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	here, elsewhere := place{"orders", "main"}, place{"orders", "other"}
	for _, c := range []struct {
		name    string
		reached time.Time
		want    time.Time
	}{
		{"the past", now.Add(-time.Hour), now.Add(-time.Hour - overlap)},
		{"the present", now, now.Add(-overlap)},
		{"the future", now.Add(24 * time.Hour), now.Add(-overlap)},
	} {
		m := &marks{reached: map[place]time.Time{here: c.reached}}
		if got := m.from(here, now); got != document.FormatTime(c.want) {
			t.Errorf("%s: a pass starts at %s, want %s", c.name, got, c.want)
		}
		if got := m.from(elsewhere, now); got != "" {
			t.Errorf("a network without a mark is reviewed from %s on, want all objects", got)
		}
	}
}
