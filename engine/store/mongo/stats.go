package mongo

import (
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/event"

	"marquee/engine/histogram"
	"marquee/engine/store"
)

// measured counts what the store does.
type measured struct {
	transactions, again, waiting atomic.Int64
	groups, commits              *histogram.Histogram
	writeWaits, connectionWaits  *histogram.Histogram
	connections, inUse           atomic.Int64

	mu sync.Mutex
	// written is when each data-bearing member last wrote, by its own account, and primary
	// the address of the primary.
	written map[string]time.Time
	primary string
}

func newMeasured() *measured {
	return &measured{groups: histogram.Sizes(), commits: histogram.Durations(),
		writeWaits: histogram.Durations(), connectionWaits: histogram.Durations(), written: map[string]time.Time{}}
}

// waits notes that a call waits for its turn until the returned function is called.
func (m *measured) waits(effort store.Effort) (end func()) {
	began := time.Now()
	m.waiting.Add(1)
	return func() {
		m.waiting.Add(-1)
		if effort.Waited != nil {
			effort.Waited.Add(int64(time.Since(began)))
		}
	}
}

// pool returns a monitor of the driver's connections.
func (m *measured) pool() *event.PoolMonitor {
	return &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		switch e.Type {
		case event.ConnectionCreated:
			m.connections.Add(1)
		case event.ConnectionClosed:
			m.connections.Add(-1)
		case event.ConnectionCheckedOut:
			m.inUse.Add(1)
			m.connectionWaits.Add(int64(e.Duration))
		case event.ConnectionCheckedIn:
			m.inUse.Add(-1)
		}
	}}
}

// heard notes what a member says of itself.
func (m *measured) heard(server string, reply event.ServerDescription) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch reply.Kind {
	case "RSPrimary":
		m.primary = server
		m.written[server] = reply.LastWriteTime
	case "RSSecondary":
		m.written[server] = reply.LastWriteTime
	default:
		delete(m.written, server)
	}
}

// lag returns how far the secondary that is furthest behind is behind the primary.
func (m *measured) lag() (most time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest, known := m.written[m.primary]
	for server, at := range m.written {
		if known && server != m.primary {
			most = max(most, newest.Sub(at))
		}
	}
	return most
}

// Stats implements store.Reporter.
func (s *Store) Stats() store.Stats {
	m, a := s.measured, s.admission
	cluster := &store.ClusterStats{Connections: m.connections.Load(), InUse: m.inUse.Load(), Lag: int64(m.lag())}
	a.mu.Lock()
	cluster.Window, cluster.Held = int64(a.window), a.held
	a.mu.Unlock()
	return store.Stats{Transactions: m.transactions.Load(), Again: m.again.Load(), Groups: m.groups.Counts(), Commits: m.commits.Counts(),
		WriteWaits: m.writeWaits.Counts(), ConnectionWaits: m.connectionWaits.Counts(), Waiting: m.waiting.Load(), Cluster: cluster}
}
