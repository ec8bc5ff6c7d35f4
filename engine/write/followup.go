package write

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/query"
	"marquee/engine/store"
)

// followUpCollection is the queue of follow-ups: a record for each object whose
// dependants must be revisited, ACTIVE until that is done. The records belong to no
// network, so that one query finds all of them.
const followUpCollection = catalog.FollowUps

var (
	stateField      = query.Field{System: query.State, Kind: query.String}
	updateTimeField = query.Field{System: query.UpdateTime, Kind: query.Time}
)

var FollowUps = store.Collection{Name: followUpCollection, Indexes: []store.Index{
	{Equal: []query.Field{stateField}, Order: updateTimeField}, {Equal: []query.Field{catalog.ByMoving}, Order: updateTimeField}}}

// followUp is an entry of the queue. A further change of the same object restarts its
// walks, so that the last values reach all dependants.
type followUp struct {
	// Behind reports that dependants were not written in the transaction of the
	// change. Otherwise the entry is for those that the transaction could not see.
	Behind bool `json:"behind,omitempty"`
	// Done counts the dependants visited, Refused those among them that were left as
	// they are because they would be invalid.
	Done int    `json:"done,omitempty"`
	ID   string `json:"id"`
	// Moving is the network while objects may have owners that they no longer have
	// because of the change: access.Sight hides these meanwhile.
	Moving  string `json:"moving,omitempty"`
	Network string `json:"network,omitempty"`
	Refused int    `json:"refused,omitempty"`
	// Server names the follower that ran the last round, to which others leave the
	// entry for a while.
	Server string `json:"server,omitempty"`
	// Settled reports that all transactions have ended that began before the change.
	Settled bool `json:"settled,omitempty"`
	// Since is the time of the first change that has not been followed up.
	Since time.Time `json:"since"`
	Type  string    `json:"type"`
	// User made the last change.
	User string `json:"user,omitempty"`
	// Walks are those not yet finished.
	Walks []dependence `json:"walks,omitempty"`
}

// dependence is a walk over the objects of a type that refer to the entry's object
// through a property; without a property, over that object alone. Where the property is
// a key of owners, it is over the objects whose path to their owners leads through the
// entry's object.
type dependence struct {
	// After and At are the id and creation time of the last object visited.
	After    string `json:"after,omitempty"`
	At       string `json:"at,omitempty"`
	Property string `json:"property,omitempty"`
	Type     string `json:"type"`
}

func (d *dependence) same(other dependence) bool {
	return d.Type == other.Type && d.Property == other.Property
}

// ofOwners reports whether the walk gives objects other owners.
func (d dependence) ofOwners() bool { return catalog.IsOwnerKey(d.Property) }

// position returns where the walk continues, nil for the beginning.
func (d *dependence) position() *query.Position {
	if d.After == "" {
		return nil
	}
	return &query.Position{Key: d.At, ID: d.After}
}

// followUps are what a transaction leaves to the queue.
type followUps struct {
	now  time.Time
	user string
	// serial reports that no other transaction runs beside this one.
	serial bool
	// entries are those of the round, and types the types of the dependants that are not
	// written in the transaction.
	entries map[store.Key]*followUp
	types   []string
}

// addAll adds a walk to the entries of changed objects if dependants are not written in the
// transaction, or others may have appeared that it does not see.
func (q *followUps) addAll(collection, network string, ids []string, d dependence, behind bool) {
	if behind || !q.serial {
		for _, id := range ids {
			q.add(collection, network, id, d, behind)
		}
	}
}

// add adds a walk to the entry of an object.
func (q *followUps) add(collection, network, id string, d dependence, behind bool) {
	key := catalog.FollowUpKey(collection, network, id)
	f := q.entries[key]
	if f == nil {
		f = &followUp{Type: collection, Network: network, ID: id, Since: q.now, User: q.user, Settled: q.serial}
		q.entries[key] = f
	}
	f.Behind = f.Behind || behind
	f.restart(d)
	if behind && !slices.Contains(q.types, d.Type) {
		q.types = append(q.types, d.Type)
		slices.Sort(q.types)
	}
}

// restart begins a walk from the start.
func (f *followUp) restart(d dependence) {
	if i := slices.IndexFunc(f.Walks, d.same); i >= 0 {
		f.Walks[i] = d
	} else {
		f.Walks = append(f.Walks, d)
	}
}

// putFollowUps stores the entries of the round.
func (w *Writing) putFollowUps() error {
	if len(w.followUps.entries) == 0 {
		return nil
	}
	w.AfterCommit(w.e.wakeFollower)
	return w.followUps.put(w.ctx, w.tx)
}

// put stores the entries, merged with unfinished earlier ones.
func (q *followUps) put(ctx context.Context, tx store.Tx) error {
	keys := slices.SortedFunc(maps.Keys(q.entries), store.Key.Compare)
	stored := map[store.Key]*store.Record{}
	err := tx.Get(ctx, followUpCollection, keys, func(r *store.Record) error {
		stored[r.Key] = r.Clone()
		return nil
	})
	if err != nil {
		return err
	}
	writes := make([]store.Write, 0, len(keys))
	for _, key := range keys {
		record := stored[key]
		if record == nil {
			record = &store.Record{Key: key}
		}
		if err := q.entries[key].join(record); err != nil {
			return err
		}
		write, err := q.entries[key].write(record, q.now)
		if err != nil {
			return err
		}
		writes = append(writes, write)
	}
	clear(q.entries)
	return tx.Put(ctx, followUpCollection, writes)
}

// join adds the unfinished walks of a stored entry.
func (f *followUp) join(r *store.Record) error {
	if r.State != "ACTIVE" {
		return nil
	}
	before := &followUp{}
	if err := json.Unmarshal(r.Document, before); err != nil {
		return err
	}
	for _, walk := range before.Walks {
		if !slices.ContainsFunc(f.Walks, walk.same) {
			f.Walks = append(f.Walks, walk)
		}
	}
	f.Behind, f.Since = f.Behind || before.Behind, before.Since
	return nil
}

// write returns the write of the entry, which is done when it has no walks.
func (f *followUp) write(r *store.Record, now time.Time) (store.Write, error) {
	content, state := f, "ACTIVE"
	if len(f.Walks) == 0 {
		state, content = "INACTIVE", &followUp{Type: f.Type, Network: f.Network, ID: f.ID, Since: f.Since}
	}
	content.Moving = ""
	if slices.ContainsFunc(content.Walks, dependence.ofOwners) {
		content.Moving = f.Network
	}
	text, err := document.Encode(content)
	return store.InternalWrite(*r, state, text, now), err
}

// FollowAgain queues a visit of all dependants of objects of a type.
func (e *Writer) FollowAgain(ctx context.Context, name, network string, ids []string) error {
	w := e.background(ctx, network, "")
	return store.Translate(w.transact(ctx, func() error {
		for _, id := range ids {
			for _, d := range e.hooks[name].Dependants {
				w.followUps.add(name, network, id, dependence{Type: d.Type, Property: d.Property}, false)
			}
		}
		return w.putFollowUps()
	}))
}

// background returns a call of the service itself, on behalf of a user. All dependants
// are left to the queue.
func (e *Writer) background(ctx context.Context, network, user string) *Writing {
	w := e.newWriting(ctx, &access.Caller{System: true, User: user}, Batch{Network: network})
	w.quiet = true
	return w
}
