package sqlite

import (
	"container/list"
	"sync"
)

// queue holds the transactions that wait for the writer. Each waits until its
// context ends, and then leaves.
//
// Short transactions pass extensive ones, so that a single write waits for one
// of these and not for all. Transactions of a kind keep their order. Every
// other group begins with an extensive one, so that none starves.
type queue struct {
	mu               sync.Mutex
	short, extensive list.List // of *job
	// turn makes the next group begin with an extensive job.
	turn   bool
	closed bool
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
	j.waits = &q.short
	if j.extensive {
		j.waits = &q.extensive
	}
	j.place = j.waits.PushBack(j)
	q.signal()
	return true
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
	if j.waits == nil {
		return false
	}
	j.take()
	return true
}

// take removes a job from its list.
func (j *job) take() *job {
	j.waits.Remove(j.place)
	j.waits, j.place = nil, nil
	return j
}

// first returns the job that a group begins with. It waits for one, and returns
// nil once the queue is closed and empty.
func (q *queue) first() *job {
	for {
		q.mu.Lock()
		j := q.front(q.turn)
		q.turn = j != nil && !j.extensive
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
	return q.front(false)
}

func (q *queue) front(extensive bool) *job {
	for _, waiting := range []*list.List{&q.short, &q.extensive} {
		if extensive && waiting == &q.short && q.extensive.Len() > 0 {
			continue
		}
		if front := waiting.Front(); front != nil {
			return front.Value.(*job).take()
		}
	}
	return nil
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
