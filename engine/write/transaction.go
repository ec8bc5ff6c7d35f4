package write

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"marquee/engine/access"
	"marquee/engine/catalog"
	"marquee/engine/document"
	"marquee/engine/history"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
	"marquee/engine/write/numbers"
	"marquee/engine/written"
)

// MaxDocumentBytes is the maximum size of a stored document.
const MaxDocumentBytes = 1 << 20

// Changes added by hooks are written in rounds of roundSize, and about roundBytes of
// documents, whose memory is free again afterwards.
const (
	roundSize  = 500
	roundBytes = 4 << 20
)

// begin starts a run of the transaction.
func (w *Writing) begin(tx store.Tx) {
	now := w.e.Now()
	if !w.batch.Time.IsZero() {
		now = w.batch.Time
	}
	w.transaction = transaction{
		tx:               tx,
		now:              now.UTC().Truncate(time.Millisecond),
		faults:           w.preparedFaults.Clone(),
		byKey:            make(map[objectKey]*Change, len(w.prepared)),
		queuedByKey:      map[objectKey]*Change{},
		beforeCommitKeys: map[string]bool{},
		left:             following{MaxFollowing, MaxFollowingBytes},
		leftOwned:        MaxFollowing,
		followUps:        map[store.Key]*followUp{},
		indexings:        map[string]*catalog.Indexing{},
		locked:           map[objectKey]bool{},
		lacks:            numbers.Lacking{},
	}
	if w.quiet {
		w.left, w.leftOwned = following{}, 0
	}
}

// conclude ends a run of the transaction when everything is written. It runs the
// checks of BeforeCommit and returns the error of all faults.
func (w *Writing) conclude() error {
	w.result.Following, w.result.targets = w.following, w.targets
	if err := w.refused(); err != nil {
		return err
	}
	for _, check := range w.beforeCommit {
		if err := check(); err != nil {
			return err
		}
	}
	return w.refused()
}

// end runs the functions of AfterCommit.
func (w *Writing) end() {
	for _, do := range w.afterCommit {
		do()
	}
}

// run writes the prepared changes, and then those that hooks have added.
func (w *Writing) run() error {
	if w.round = w.prepared; len(w.round) > 0 {
		if err := w.runRound(); errors.Is(err, errRoundTooLarge) {
			return message.BatchTooLarge.Error(nil)
		} else if err != nil {
			return err
		}
	}
	for atOnce := roundSize; len(w.queued) > 0; {
		n := 0
		for bytes := 0; n < min(len(w.queued), atOnce) && bytes < roundBytes; n++ {
			bytes += w.queued[n].size
		}
		w.round = slices.Clone(w.queued[:n])
		clear(w.queued[:n])
		w.queued = w.queued[n:]
		for _, c := range w.round {
			delete(w.queuedByKey, c.key())
		}
		if err := w.runRound(); errors.Is(err, errRoundTooLarge) && len(w.round) > 1 {
			atOnce = len(w.round) / 2
			w.requeue(w.round)
			continue
		} else if err != nil {
			return err
		}
		w.release()
	}
	return nil
}

// release drops the round's changes that hooks added, whose objects are now found in
// the store. A change of an object that the client sent becomes part of the answer.
func (w *Writing) release() {
	for _, c := range w.round {
		if !c.Internal() {
			continue
		}
		key := c.key()
		if sent := w.sent[key]; sent != nil {
			sent.record, sent.After, sent.State = c.record, c.After, c.State
			w.byKey[key] = sent
		} else {
			delete(w.byKey, key)
		}
	}
}

// Upsert adds a change of one object to the transaction, without checking permissions.
// Edit alters the document and may run again; nil runs the hooks of the unchanged
// object. The change is not loaded yet.
func (w *Writing) Upsert(t *schema.Type, network, id string, edit func(object map[string]any)) *Change {
	key := objectKey{t.Name, t.NetworkOf(network), id}
	c := w.queuedByKey[key]
	if c == nil {
		c = &Change{Type: t, Caller: w.caller, Index: -1, Network: key.network, Context: network, ID: id}
		w.queued = append(w.queued, c)
		w.queuedByKey[key] = c
	}
	if edit != nil {
		c.edits = append(c.edits, edit)
	}
	return c
}

func (w *Writing) runRound() error {
	if err := w.readIndexings(); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	if err := w.noteAhead(); err != nil {
		return err
	}
	sent := slices.DeleteFunc(slices.Clone(w.round), (*Change).Internal)
	if err := w.authorize(w.tx, sent, (*Change).storedVersion); err != nil {
		return err
	}
	// A hook may look at the other changes of the round, so all are merged first.
	for _, c := range w.round {
		if err := w.merge(c); err != nil {
			return err
		}
	}
	if err := w.hooks(w.round, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.BeforeValidate }); err != nil {
		return err
	}
	if err := w.hooks(w.round, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.Validate }); err != nil {
		return err
	}
	if err := w.validateAll(); err != nil {
		return err
	}
	for _, c := range w.round {
		for _, fault := range c.faults {
			w.faults.Add(fault)
		}
	}
	if err := w.checkReferences(w.tx); err != nil {
		return err
	}
	claims, err := w.checkUnique()
	if err != nil {
		return err
	}
	if err := w.checkForms(claims); err != nil {
		return err
	}
	if err := w.refused(); err != nil {
		return err
	}
	if err := w.needNumbers(); err != nil {
		return err
	}
	if err := w.computeOwners(); err != nil {
		return err
	}
	return w.store(claims)
}

// refused returns the error of the faults, nil when there are none.
func (w *Writing) refused() error {
	w.refusal = w.faults.Err()
	return w.refusal
}

// open decodes the stored document and decrypts its secrets.
func (w *Writing) open(c *Change) (err error) {
	c.Before, err = w.decode(c, c.stored.Document)
	return err
}

// decode decodes the stored document, or a part of it, and decrypts its secrets.
func (w *Writing) decode(c *Change, stored []byte) (map[string]any, error) {
	object, err := document.DecodeObject(stored, document.Limits{Depth: 1000})
	if err != nil {
		return nil, errors.New("the stored document of " + c.Type.Name + " " + c.ID + " cannot be read")
	}
	return object, c.shape().Secrets(object, func(at document.Pointer, stored string) (string, error) {
		plain, err := w.e.Sealer.Open(stored, c.place(at))
		if err == nil {
			if c.sealed == nil {
				c.sealed = map[string]string{}
			}
			c.sealed[at.String()+"\x00"+plain] = stored
			return plain, nil
		}
		c.otherForm = true
		return w.e.RevealAt(c.Type.Name, stored, c.place(at))
	})
}

func (c *Change) place(at document.Pointer) string {
	return catalog.SecretPlace(c.Type.Name, c.Network, c.ID, at)
}

// storedVersion is 0 for a new object.
func (c *Change) storedVersion() int64 {
	if c.stored == nil {
		return 0
	}
	return c.stored.Version
}

// storedRevision is 0 for a new object.
func (c *Change) storedRevision() int64 {
	if c.stored == nil {
		return 0
	}
	return c.record.Revision - 1
}

func (w *Writing) merge(c *Change) error {
	if !c.Internal() && c.op.MergePatch && c.Type.Parent != "" && !document.Equal(c.Before[c.Type.Parent], c.Patch[c.Type.Parent]) {
		return c.missing() // the path names another parent
	}
	if err := w.mergeNested(c); err != nil {
		return err
	}
	patch := c.Patch
	for name, value := range patch {
		if member := c.Type.Shape.Member(name); member != nil && member.WriteOnly && value == nil {
			patch = maps.Clone(patch)
			delete(patch, name)
		}
	}
	hidesSecrets := c.Type.Shape.HasSecrets && !w.e.access.MayReadSecrets(c.Caller, c.Type, c.Context)
	c.After = document.Merge(c.shapeSeen(), c.Before, patch, hidesSecrets)
	for name := range c.nested { // which keep what is hidden, and may remove it
		if value := patch[name]; value != nil {
			c.After[name] = value
		}
	}
	c.After = c.Type.Shape.KeepUnseen(c.shapeSeen(), c.Before, c.After)
	for _, edit := range c.edits {
		edit(c.After)
	}
	if c.stored == nil {
		w.supply(c)
	}
	c.State = cmp.Or(c.wanted, c.StateBefore, "ACTIVE")
	if c.Erases() {
		c.erase()
	}
	return nil
}

// store writes what has changed in bulk, with its history.
func (w *Writing) store(claims map[*Change]claimDiff) error {
	var changed []*Change
	for _, c := range w.round {
		switch {
		case c.failed != nil:
			return c.failed
		case !c.changed:
			c.record = *c.stored
			continue
		case len(c.document) > MaxDocumentBytes:
			return c.refusal(message.ObjectTooLarge, message.Params{"limit": MaxDocumentBytes, "objectId": c.ID})
		}
		c.record = w.recordOf(c)
		changed = append(changed, c)
	}
	if err := w.hooks(changed, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.BeforeStore }); err != nil {
		return err
	}
	if err := w.refused(); err != nil || len(changed) == 0 {
		return err
	}
	if err := w.follow(changed); err != nil {
		return err
	}
	if err := w.lockConditions(); err != nil {
		return err
	}
	if err := w.lockTargets(changed); err != nil {
		return err
	}
	if err := w.dropRemoved(changed); err != nil {
		return err
	}
	writes, changes := map[string][]store.Write{}, make([]store.Change, 0, len(changed))
	for _, c := range changed {
		delete(w.targets, written.Key{Collection: c.Type.Name, Network: c.Network, ID: c.ID})
		writes[c.Type.Name] = append(writes[c.Type.Name], store.Write{Record: c.record, Expected: c.storedRevision(), Last: c.record.Revision - 1,
			Was: c.StateBefore, Same: c.sameText,
			AddTerms: c.addTerms, DropTerms: c.dropTerms, AddClaims: claims[c].add, DropClaims: claims[c].drop})
		changes = append(changes, w.changeOf(c))
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

// changeOf returns the entry of the history. The creator of the object is notified of
// warnings that have appeared.
func (w *Writing) changeOf(c *Change) store.Change {
	change := store.Change{Time: w.now, Network: c.record.Network, Collection: c.Type.Name, ID: c.ID, Revision: c.record.Revision,
		Version: c.record.Version, User: w.caller.User, FeedOnly: c.derived, Fields: c.fields}
	if !c.derived {
		change.Cause = c.cause
		if len(c.cause) == 0 {
			change.Cause = causeOf(w.caller)
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

// recordOf returns the record to be stored. Derived changes raise only the revision. A
// change of values by the service is a version without a new updateUser, and one of
// properties that some callers do not see leaves updateTime, too, which they see.
func (w *Writing) recordOf(c *Change) store.Record {
	record := store.Record{Key: store.Key{Network: c.Network, ID: c.ID}, Revision: 1, Version: 1, State: c.State,
		CreateTime: w.now, UpdateTime: w.now, CreateUser: w.caller.User, UpdateUser: w.caller.User,
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
