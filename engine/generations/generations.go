// Package generations has a bounded map that keeps what is used. It imports nothing
// of the project.
package generations

import "sync"

// Map forgets what has not been used for longest. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	// Most is what all entries weigh at most, unless a single one weighs more than half
	// of it.
	Most int
	// Weigh returns what an entry weighs, which must not change; nil means 1.
	Weigh func(V) int

	mu         sync.Mutex
	young, old map[K]V
	// weight is that of young.
	weight int
}

// Get returns the value of a key, if it is kept.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.young[key]; ok {
		return value, true
	}
	value, ok := m.old[key]
	if ok {
		m.put(key, value)
	}
	return value, ok
}

// Put keeps a value.
func (m *Map[K, V]) Put(key K, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, value)
}

func (m *Map[K, V]) put(key K, value V) {
	weight := m.weightOf(value)
	if before, ok := m.young[key]; ok {
		m.weight -= m.weightOf(before)
	}
	if m.young == nil || m.weight > 0 && m.weight+weight > m.Most/2 {
		m.old, m.young, m.weight = m.young, map[K]V{}, 0
	}
	m.young[key] = value
	m.weight += weight
}

func (m *Map[K, V]) weightOf(value V) int {
	if m.Weigh == nil {
		return 1
	}
	return m.Weigh(value)
}

// Clear forgets all entries.
func (m *Map[K, V]) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.young, m.old, m.weight = nil, nil, 0
}
