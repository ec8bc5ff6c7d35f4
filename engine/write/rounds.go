package write

import "slices"

// Changes added by hooks are written in rounds of roundSize, and about roundBytes of
// documents, whose memory is free again afterwards.
const (
	roundSize  = 500
	roundBytes = 4 << 20
)

// rounds are the changes of a transaction.
type rounds struct {
	// round is being written; queued are the changes that hooks have added since.
	round, queued []*Change
	queuedByKey   map[objectKey]*Change
	// byKey are the changes of the round, and those of the rounds before that the client
	// asked for.
	byKey map[objectKey]*Change
}

// enqueue adds a change to the queue.
func (r *rounds) enqueue(c *Change) {
	r.queued = append(r.queued, c)
	r.queuedByKey[c.key()] = c
}

// next makes the first changes of the queue the round: as many as it has room for, and at
// most n.
func (r *rounds) next(n int) {
	end := 0
	for bytes := 0; end < min(len(r.queued), n) && bytes < roundBytes; end++ {
		bytes += r.queued[end].size
	}
	r.round = slices.Clone(r.queued[:end])
	clear(r.queued[:end])
	r.queued = r.queued[end:]
	for _, c := range r.round {
		delete(r.queuedByKey, c.key())
	}
}

// requeue leaves changes added by hooks to the next rounds.
func (r *rounds) requeue(changes []*Change) {
	for _, c := range changes {
		r.queuedByKey[c.key()] = c
		delete(r.byKey, c.key())
	}
	r.queued = append(slices.Clone(changes), r.queued...)
}

// release drops the round's changes that hooks added, whose objects are now found in
// the store. A change of an object that the client sent becomes part of the answer.
func (r *rounds) release(sentByKey map[objectKey]*Change) {
	for _, c := range r.round {
		if !c.Internal() {
			continue
		}
		key := c.key()
		if sent := sentByKey[key]; sent != nil {
			sent.record, sent.After, sent.State = c.record, c.After, c.State
			r.byKey[key] = sent
		} else {
			delete(r.byKey, key)
		}
	}
}

// forget drops all changes, whose objects are now found in the store.
func (r *rounds) forget() {
	r.round, r.queued = nil, nil
	clear(r.byKey)
	clear(r.queuedByKey)
}
