package location

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"
)

// TestFollowDecodes holds that the locations are decoded without a search, but not during
// the start.
func TestFollowDecodes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var l Lookup
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Follow(ctx, nil, 0, time.Hour, slog.New(slog.DiscardHandler))
	}()
	for l.gazetteer.Load() == nil {
		runtime.Gosched()
	}
	cancel()
	<-ended

	var starting Lookup
	starting.Follow(ctx, nil, time.Hour, time.Hour, slog.New(slog.DiscardHandler))
	if starting.gazetteer.Load() != nil {
		t.Error("the locations are decoded during the start")
	}
}
