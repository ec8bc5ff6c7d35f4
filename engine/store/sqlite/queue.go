package sqlite

import (
	"sync"

	"marquee/engine/turn"
)

// queue holds the transactions that wait for the writer. Each waits until its
// context ends, and then leaves.
//
// Short transactions pass extensive ones, so that a single write waits for one
// of these and not for all. Among transactions of a kind, callers take turns, and
// those of one caller keep their order. Every other group begins with an extensive
// one, so that none starves.
type queue struct {
	mu               sync.Mutex
	short, extensive turn.Queue[*job]
	// extensiveNext makes the next group begin with an extensive job.
	extensiveNext bool
	closed        bool
	// arrived signals that a job may have been pushed since it was last
	// received.
	arrived chan struct{}
}

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

// push adds a job, unless the queue is closed.
func (q *queue) push(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.kind(j).Push(j.effort.Caller, j)
	q.signal()
	return true
}

func (q *queue) kind(j *job) *turn.Queue[*job] {
	if j.effort.Extensive {
		return &q.extensive
	}
	return &q.short
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// leave removes a job, and reports false when it no longer waits.
func (q *queue) leave(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kind(j).Remove(j.effort.Caller, j)
}

// first returns the job that a group begins with. It waits for one, and returns
// nil once the queue is closed and empty.
func (q *queue) first() *job {
	for {
		q.mu.Lock()
		j := q.take(q.extensiveNext)
		q.extensiveNext = j != nil && !j.effort.Extensive
		closed := q.closed
		q.mu.Unlock()
		if j != nil || closed {
			return j
		}
		<-q.arrived
	}
}

// next returns a job to join a group, nil when none waits.
func (q *queue) next() *job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(false)
}

// take removes the job whose turn it is, and returns nil when none waits.
func (q *queue) take(extensiveFirst bool) *job {
	from, other := &q.short, &q.extensive
	if extensiveFirst {
		from, other = other, from
	}
	if from.Len() == 0 {
		from = other
	}
	if from.Len() == 0 {
		return nil
	}
	caller, _ := from.First()
	return from.Take(caller)
}

// close refuses new jobs. Waiting jobs are still returned.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// len returns the number of waiting jobs.
func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.short.Len() + q.extensive.Len()
}
