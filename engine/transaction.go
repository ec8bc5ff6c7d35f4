package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// MaxDocumentBytes is how large a stored document may be.
const MaxDocumentBytes = 1 << 20

// roundSize is how many changes that hooks add are written at once: what they
// take is free again before the next.
const roundSize = 500

// begin makes ready for a run of the transaction.
func (w *Writing) begin(tx store.Tx) {
	w.tx, w.now = tx, w.e.Now().UTC().Truncate(time.Millisecond)
	w.faults = w.preparedFaults.Clone()
	w.round, w.queued, w.then, w.checked = nil, nil, nil, map[string]bool{}
	w.byKey, w.queuedByKey = make(map[objectKey]*Change, len(w.prepared)), map[objectKey]*Change{}
}

// end does what was to be done after the commit.
func (w *Writing) end() {
	for _, do := range w.then {
		do()
	}
}

// run writes the prepared changes, and then those that hooks added meanwhile.
func (w *Writing) run() error {
	if w.round = w.prepared; len(w.round) > 0 {
		if err := w.runRound(); err != nil {
			return err
		}
	}
	for len(w.queued) > 0 {
		n := min(len(w.queued), roundSize)
		w.round = slices.Clone(w.queued[:n])
		clear(w.queued[:n])
		w.queued = w.queued[n:]
		for _, c := range w.round {
			delete(w.queuedByKey, c.key())
		}
		if err := w.runRound(); err != nil {
			return err
		}
		w.release()
	}
	return nil
}

// release forgets the changes of the round that hooks made; who looks for them
// from now on finds them stored. What became of an object that the client sent
// is part of the answer.
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

// Upsert adds a change of one object to the transaction, as the service itself
// makes it: permissions are not asked. Edit alters the document as it is then,
// and may run again; nil leaves it as it is, for the hooks of its type to look
// at it again.
func (w *Writing) Upsert(t *schema.Type, network, id string, edit func(object map[string]any)) {
	key := objectKey{t.Name, home(t, network), id}
	c := w.queuedByKey[key]
	if c == nil {
		c = &Change{Type: t, Caller: w.caller, Index: -1, Network: key.network, Context: network, ID: id}
		w.queued = append(w.queued, c)
		w.queuedByKey[key] = c
	}
	if edit != nil {
		c.edits = append(c.edits, edit)
	}
}

func (w *Writing) runRound() error {
	if err := w.checkOutdated(); err != nil {
		return err
	}
	if err := w.load(); err != nil {
		return err
	}
	for _, c := range w.round {
		if err := w.admit(c); err != nil {
			return err
		}
	}
	if err := w.checkVisible(); err != nil {
		return err
	}
	// A hook may look at the other changes of the round, so all are merged first.
	for _, c := range w.round {
		w.merge(c)
	}
	if err := w.hooks(w.round, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.Merged }); err != nil {
		return err
	}
	if err := w.hooks(w.round, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.Judged }); err != nil {
		return err
	}
	if err := w.examineAll(); err != nil {
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
	if err := w.refused(); err != nil {
		return err
	}
	return w.store(claims)
}

// refused is the error of the faults, nil when there are none.
func (w *Writing) refused() error {
	w.refusal = w.faults.Err()
	return w.refusal
}

// load reads what is there, one query a collection.
func (w *Writing) load() error {
	keys := map[string][]store.Key{}
	round := make(map[objectKey]*Change, len(w.round))
	for _, c := range w.round {
		c.reset()
		c.pending = w.e.pending[c.Type.Name]
		if c.ID == "" {
			continue
		}
		round[c.key()] = c
		keys[c.Type.Name] = append(keys[c.Type.Name], store.Key{Network: c.Network, ID: c.ID})
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		err := w.tx.Get(w.ctx, name, keys[name], func(r *store.Record) error {
			c := round[objectKey{name, r.Network, r.ID}]
			stored := *r
			stored.Document, stored.Warnings = slices.Clone(r.Document), slices.Clone(r.Warnings)
			c.stored, c.StateBefore = &stored, stored.State
			return w.open(c)
		})
		if err != nil {
			return err
		}
	}
	maps.Copy(w.byKey, round)
	return nil
}

// reset forgets what an earlier run of the transaction found.
func (c *Change) reset() {
	c.Before, c.After, c.stored, c.sealed, c.changed, c.StateBefore = nil, nil, nil, nil, false, ""
	c.touched, c.faults, c.refused, c.warned, c.points = nil, nil, nil, nil, nil
}

// open decodes the stored document and decrypts its secrets.
func (w *Writing) open(c *Change) error {
	before, err := document.DecodeObject(c.stored.Document, document.Limits{Depth: 1000})
	if err != nil {
		return errors.New("the stored document of " + c.Type.Name + " " + c.ID + " cannot be read")
	}
	c.Before = before
	return c.Type.Shape.Secrets(before, func(at document.Pointer, sealed string) (string, error) {
		plain, err := w.e.Sealer.Open(sealed, c.place(at))
		if err == nil {
			if c.sealed == nil {
				c.sealed = map[string]string{}
			}
			c.sealed[at.String()+"\x00"+plain] = sealed
		}
		return plain, err
	})
}

func (c *Change) place(at document.Pointer) string {
	return SecretPlace(c.Type.Name, c.Network, c.ID, at)
}

// SecretPlace is what a secret of an object is bound to.
func SecretPlace(collection, network, id string, at document.Pointer) string {
	return strings.Join([]string{collection, network, id, at.String()}, "\x00")
}

// admit decides whether the caller may write the object, and whether it is as
// he expects.
func (w *Writing) admit(c *Change) error {
	if c.op == nil {
		return nil
	}
	if err := w.e.Access.MayWrite(w.caller, c.Type, c.Context, c.ID, c.stored != nil); err != nil {
		return err
	}
	version := int64(0)
	if c.stored != nil {
		version = c.stored.Version
	}
	if c.op.OnlyNew && version > 0 {
		return message.AlreadyExists.Error(message.Params{"type": c.Type.Name, "id": c.ID})
	}
	if c.op.IfVersion != nil && !c.op.IfVersion(version) {
		return message.VersionMismatch.Error(message.Params{"type": c.Type.Name, "id": c.ID})
	}
	return nil
}

// checkVisible refuses to change what the caller does not see: for him, it is
// not there.
func (w *Writing) checkVisible() error {
	existing := map[place][]string{}
	for _, c := range w.round {
		if c.op == nil {
			continue
		}
		visible := w.e.Access.Visible(w.caller, c.Type, c.Context)
		switch {
		case never(visible):
			return message.ResultInvisible.Error(message.Params{"type": c.Type.Name, "id": c.ID})
		case c.stored != nil && !always(visible):
			where := place{c.Type.Name, c.Network}
			existing[where] = append(existing[where], c.ID)
		}
	}
	for where, ids := range existing {
		t, _ := w.registry.Type(where.collection)
		seen := map[string]bool{}
		err := visit(w.ctx, w.tx, where, ids, w.e.Access.Visible(w.caller, t, w.batch.Network), func(r *store.Record) error {
			seen[r.ID] = true
			return nil
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !seen[id] {
				return message.ObjectNotFound.Error(message.Params{"type": where.collection, "id": id})
			}
		}
	}
	return nil
}

func (w *Writing) merge(c *Change) {
	patch := c.Patch
	for name, value := range patch {
		if member := c.Type.Shape.Properties[name]; member != nil && member.WriteOnly && value == nil {
			patch = maps.Clone(patch)
			delete(patch, name)
		}
	}
	c.After = document.Merge(c.Type.Shape, c.Before, patch)
	for _, edit := range c.edits {
		edit(c.After)
	}
	c.State = cmp.Or(c.wanted, c.StateBefore, "ACTIVE")
}

// store writes what has changed, in bulk, with its history.
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
			return badRequest(c, message.ObjectTooLarge, message.Params{"limit": MaxDocumentBytes, "objectId": c.ID})
		}
		c.record = w.recordOf(c)
		changed = append(changed, c)
	}
	if err := w.hooks(changed, func(h Hooks) func(context.Context, *Writing, []*Change) error { return h.Written }); err != nil {
		return err
	}
	if err := w.refused(); err != nil || len(changed) == 0 {
		return err
	}
	writes, changes := map[string][]store.Write{}, make([]store.Change, 0, len(changed))
	for _, c := range changed {
		writes[c.Type.Name] = append(writes[c.Type.Name], store.Write{Record: c.record, Expected: c.record.Version - 1,
			Same:     c.stored != nil && bytes.Equal(c.document, c.stored.Document),
			AddTerms: c.addTerms, DropTerms: c.dropTerms, AddClaims: claims[c].add, DropClaims: claims[c].drop})
		changes = append(changes, w.changeOf(c))
	}
	for _, name := range slices.Sorted(maps.Keys(writes)) {
		if err := w.tx.Put(w.ctx, name, writes[name]); err != nil {
			return err
		}
	}
	return w.tx.Append(w.ctx, changes)
}

// changeOf is what the history keeps of a change. Who created the object is told
// of warnings that have appeared on it.
func (w *Writing) changeOf(c *Change) store.Change {
	change := store.Change{Time: w.now, Network: c.record.Network, Collection: c.Type.Name, ID: c.ID,
		Version: c.record.Version, User: w.caller.User, Fields: c.fields}
	if notices := appeared(c.warningsBefore(), c.warnings); notices != nil && c.record.CreateUser != "" {
		change.Owner, change.Notices = c.record.CreateUser, notices
	}
	return change
}

func (c *Change) warningsBefore() []byte {
	if c.stored == nil {
		return nil
	}
	return c.stored.Warnings
}

func (w *Writing) recordOf(c *Change) store.Record {
	record := store.Record{Key: store.Key{Network: c.Network, ID: c.ID}, Version: 1, State: c.State,
		CreateTime: w.now, UpdateTime: w.now, CreateUser: w.caller.User, UpdateUser: w.caller.User,
		Warnings: c.warnings, Document: c.document}
	if c.stored != nil {
		record.Version = c.stored.Version + 1
		record.CreateTime, record.CreateUser = c.stored.CreateTime, c.stored.CreateUser
	}
	return record
}
