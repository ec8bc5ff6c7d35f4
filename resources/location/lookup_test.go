package location

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// TestFollowDecodes holds that the locations are decoded before the first search.
func TestFollowDecodes(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var l Lookup
	l.Follow(ended, nil, time.Hour, slog.New(slog.DiscardHandler))
	if l.gazetteer.Load() == nil {
		t.Error("the first search would decode the locations")
	}
}
