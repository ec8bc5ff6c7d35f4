package mongo

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"
)

// TestLag: it is that of the secondary that is furthest behind, of those that are one still.
func TestLag(t *testing.T) {
	m, now := newMeasured(), time.Now()
	says := func(server, kind string, behind time.Duration) {
		m.heard(server, event.ServerDescription{Kind: kind, LastWriteTime: now.Add(-behind)})
	}
	expect := func(lag time.Duration) {
		t.Helper()
		if got := m.lag(); got != lag {
			t.Errorf("the lag is %s instead of %s", got, lag)
		}
	}
	says("b", "RSSecondary", 3*time.Second)
	expect(0) // nobody knows a primary
	says("a", "RSPrimary", 0)
	expect(3 * time.Second)
	says("c", "RSSecondary", time.Minute)
	expect(time.Minute)
	says("c", "Unknown", 0)
	expect(3 * time.Second)
	says("b", "RSPrimary", -time.Second)
	says("a", "RSSecondary", 4*time.Second)
	expect(5 * time.Second)
}

// TestPool: connections are counted as long as they are open and in use.
func TestPool(t *testing.T) {
	m := newMeasured()
	monitor := m.pool()
	for _, kind := range []string{event.ConnectionCreated, event.ConnectionCheckedOut, event.ConnectionCreated, event.ConnectionCheckedOut, event.ConnectionCheckedIn, event.ConnectionClosed} {
		monitor.Event(&event.PoolEvent{Type: kind, Duration: time.Millisecond})
	}
	if m.connections.Load() != 1 || m.inUse.Load() != 1 || m.connectionWaits.Counts().Count != 2 {
		t.Errorf("%d connections, of which %d are in use", m.connections.Load(), m.inUse.Load())
	}
}
