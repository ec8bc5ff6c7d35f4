package write

import (
	"context"
	"maps"
	"slices"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/store"
	"marquee/engine/written"
)

// MaxDocumentBytes is the maximum size of a stored document.
const MaxDocumentBytes = 1 << 20

// store writes what has changed in bulk, with its history.
func (w *Writing) store() error {
	var changed []*Change
	for _, c := range w.round {
		switch {
		case c.failed != nil:
			return c.failed
		case !c.changed:
			c.record = *c.stored
			w.kept.add(c)
			continue
		case len(c.document) > MaxDocumentBytes:
			return c.refusal(message.ObjectTooLarge, message.Params{"limit": MaxDocumentBytes, "objectId": c.ID})
		}
		c.record = c.recordAt(w.now, w.caller.User)
		changed = append(changed, c)
	}
	if err := w.hooks(changed, func(h Hooks) hook { return h.BeforeStore }); err != nil {
		return err
	}
	if err := w.refused(); err != nil {
		return err
	}
	w.kept.written = w.kept.written || len(changed) > 0
	if err := w.kept.lock(w); err != nil || len(changed) == 0 {
		return err
	}
	if err := w.follow(changed); err != nil {
		return err
	}
	var gained []catalog.Referred // with whose removals the transaction conflicts
	for _, c := range changed {
		gained = append(gained, c.gained...)
	}
	if err := w.e.LockReferences(w.ctx, w.tx, w.lane, gained); err != nil {
		return err
	}
	if err := dropTombstones(w.ctx, w.tx, changed); err != nil {
		return err
	}
	if err := w.noteUnamended(changed); err != nil {
		return err
	}
	writes, changes := map[string][]store.Write{}, make([]store.Change, 0, len(changed))
	for _, c := range changed {
		delete(w.targets, written.Key{Collection: c.Type.Name, Network: c.Network, ID: c.ID})
		writes[c.Type.Name] = append(writes[c.Type.Name], store.Write{Record: c.record, Expected: c.storedRevision(), Last: c.record.Revision - 1,
			Was: c.StateBefore, Same: c.sameText,
			AddTerms: c.addTerms, DropTerms: c.dropTerms, AddClaims: c.addClaims, DropClaims: c.dropClaims})
		if c.moved != nil { // first, so that those who gain sight of the object have it when it changes
			move := catalog.MoveEntry(c.Type.Name, &c.record, c.moved)
			move.Time = w.now
			changes = append(changes, move)
		}
		changes = append(changes, c.entry(w.now, w.caller))
	}
	for _, name := range slices.Sorted(maps.Keys(writes)) {
		w.e.sizes.learnWritten(name, writes[name])
		if err := w.tx.Put(w.ctx, name, writes[name]); err != nil {
			return err
		}
	}
	if err := w.tx.Append(w.ctx, changes); err != nil {
		return err
	}
	return w.moveOwned(changed)
}

// dropTombstones drops what was kept of removed objects that are created again.
func dropTombstones(ctx context.Context, tx store.Tx, changed []*Change) error {
	var keys []store.Key
	for _, c := range changed {
		if c.tombstone != nil {
			keys = append(keys, catalog.RemovedKey(c.Type.Name, c.recordKey()))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return store.Drop(ctx, tx, catalog.Removed.Name, keys)
}

// storedRevision is 0 for a new object.
func (c *Change) storedRevision() int64 {
	if c.stored == nil {
		return 0
	}
	return c.record.Revision - 1
}

// entry returns the entry of the history. The creator of the object is notified of
// warnings that have appeared.
func (c *Change) entry(now time.Time, caller *access.Caller) store.Change {
	change := store.Change{Time: now, Network: c.record.Network, Collection: c.Type.Name, ID: c.ID, Revision: c.record.Revision,
		Version: c.record.Version, User: caller.User, FeedOnly: c.derived, Fields: c.fields}
	if !c.derived {
		change.Cause = c.cause
		if len(c.cause) == 0 {
			change.Cause = causeOf(caller)
		}
	}
	if notices := history.Appeared(c.warningsBefore(), c.warnings); notices != nil && c.record.CreateUser != "" {
		change.Owner, change.Notices = c.record.CreateUser, notices
	}
	return change
}

// causeOf returns what the history says of a caller that is no user in person, or nil.
func causeOf(caller *access.Caller) []byte {
	switch token := caller.Token; {
	case caller.Operator:
		return history.Encode(message.CauseOperator.With(nil))
	case token != nil:
		return history.Encode(message.CauseToken.With(message.Params{"type": "tokens", "id": token.ID, "context": token.Network}))
	}
	return nil
}

// recordAt returns the record to be stored. Derived changes raise only the revision. A
// change of values by the service is a version without a new updateUser, and one of
// properties that some callers do not see leaves updateTime, too, which they see.
func (c *Change) recordAt(now time.Time, user string) store.Record {
	record := store.Record{Key: c.recordKey(), Revision: 1, Version: 1, State: c.State,
		CreateTime: now, UpdateTime: now, CreateUser: user, UpdateUser: user,
		Warnings: c.warnings, Document: c.document}
	if c.tombstone != nil {
		record.Revision, record.Version = c.tombstone.Revision+1, c.tombstone.Version+1
	}
	if c.stored == nil {
		return record
	}
	record.Revision, record.Version = c.stored.Revision+1, c.stored.Version
	record.CreateTime, record.CreateUser = c.stored.CreateTime, c.stored.CreateUser
	if c.derived || c.partly || c.Internal() {
		record.UpdateUser = c.stored.UpdateUser
	}
	if c.derived || c.partly {
		record.UpdateTime = c.stored.UpdateTime
	}
	if !c.derived {
		record.Version++
	}
	return record
}

// kept are the objects of a transaction that are already stored as requested. If the
// transaction writes others, it relies on these to stay as they are: without a lock, of two
// requests that each write two objects, each could take effect on one.
type kept struct {
	written bool // whether the transaction has written
	ids     map[keptIn][]string
}

// keptIn is a type in a network.
type keptIn struct{ collection, network string }

// add adds an unchanged object. Objects that are only passed to hooks again are left out: if
// another transaction changes one, it runs the hooks itself.
func (k *kept) add(c *Change) {
	if c.Internal() && len(c.edits) == 0 {
		return
	}
	if k.ids == nil {
		k.ids = map[keptIn][]string{}
	}
	in := keptIn{c.Type.Name, c.Context}
	k.ids[in] = append(k.ids[in], c.ID)
}

// lock locks what was kept, once the transaction has written.
func (k *kept) lock(w *Writing) error {
	if w.e.Store.Serial() {
		k.ids = nil // of a stream, there may be many
	}
	if !k.written {
		return nil
	}
	for in, ids := range k.ids {
		if err := w.Lock(in.collection, in.network, ids...); err != nil {
			return err
		}
	}
	k.ids = nil
	return nil
}
