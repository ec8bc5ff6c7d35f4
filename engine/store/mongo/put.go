package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// Put implements store.Tx.
func (t *transaction) Put(ctx context.Context, collection string, writes []store.Write) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	for i := range writes {
		t.touch(writes[i].Network, collection)
		t.tally(collection, &writes[i])
	}
	if err := t.disclaim(ctx, writes); err != nil {
		return err
	}
	if err := t.putRecords(ctx, collection, writes); err != nil {
		return err
	}
	adds := t.updates(claimsCollection)
	for i := range writes {
		if err := addClaims(ctx, adds, writes[i].AddClaims, writes[i].ID); err != nil {
			return err
		}
	}
	return adds.send(ctx)
}

// Remove implements store.Tx. Terms are part of the record.
func (t *transaction) Remove(ctx context.Context, collection string, writes []store.Write) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.disclaim(ctx, writes); err != nil {
		return err
	}
	records, drops := t.deletes(collection), t.deletes(collection)
	for i := range writes {
		w, place := &writes[i], store.Place{Collection: collection, Network: writes[i].Network}
		t.touch(w.Network, collection)
		if w.Was == "" {
			t.tallies.Forget(place)
		} else { // record.AppendRemoval demands the state
			t.tallies.Add(place, w.Was, -1)
		}
		if w.Expected == 0 {
			if err := drops.delete(ctx, bson.D{{Key: record.FieldID, Value: record.ID(w.Key)}}, 1); err != nil {
				return err
			}
			continue
		}
		if err := records.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendRemoval(dst, w), nil }); err != nil {
			return err
		}
	}
	if err := drops.send(ctx); err != nil {
		return err
	}
	return records.all(ctx)
}

// tally notes by how much a write changes the numbers of records by state.
func (t *transaction) tally(collection string, w *store.Write) {
	switch place := (store.Place{Collection: collection, Network: w.Network}); {
	case w.Expected == 0:
		t.tallies.Add(place, w.State, 1)
	case w.Was == "":
		t.tallies.Forget(place)
	default: // record.AppendUpdate demands the state
		t.tallies.Move(place, w.Was, w.State)
	}
}

func (t *transaction) putRecords(ctx context.Context, collection string, writes []store.Write) error {
	inserts, updates := t.inserts(collection), t.updates(collection)
	created, bytes := 0, 0
	for i := range writes {
		w, err := &writes[i], error(nil)
		switch {
		case w.Expected == 0:
			err = inserts.add(ctx, func(dst []byte) ([]byte, error) {
				before := len(dst)
				dst, err := record.Append(dst, w)
				created, bytes = created+1, bytes+len(dst)-before
				return dst, err
			})
		default:
			err = updates.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendUpdate(dst, w) })
		}
		if err != nil {
			return err
		}
	}
	t.s.answers.learn(collection, created, bytes)
	if err := inserts.send(ctx); err != nil {
		return err
	}
	return updates.all(ctx)
}

// Lock implements store.Tx. MongoDB ignores an update that changes nothing, so the
// record holds which transaction has locked it.
func (t *transaction) Lock(ctx context.Context, collection string, keys []store.Key) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	t.locked = true
	locks := t.updates(collection)
	for _, key := range keys {
		err := locks.update(ctx, bson.D{{Key: record.FieldID, Value: record.ID(key)}}, bson.D{{Key: "$set", Value: bson.D{{Key: record.FieldLock, Value: t.id}}}})
		if err != nil {
			return err
		}
	}
	return locks.send(ctx)
}

// Append implements store.Tx.
func (t *transaction) Append(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	inserts, ordinal := t.inserts(changesCollection), t.ordinal()
	for i := range changes {
		c := &changes[i]
		id := fmt.Sprintf("%s-%06x", ordinal, t.appended)
		t.appended++
		t.touch(c.Network, changesCollection)
		if !c.FeedOnly {
			t.tallies.Add(store.Place{Collection: changesCollection, Network: c.Network}, c.Collection, 1)
		}
		if err := inserts.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendChange(dst, id, c) }); err != nil {
			return err
		}
	}
	return inserts.send(ctx)
}

// Index implements store.Tx.
func (t *transaction) Index(ctx context.Context, collection string, entries []store.Entry) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	updates, claims := t.updates(collection), t.updates(claimsCollection)
	for _, entry := range entries {
		t.touch(entry.Network, collection)
		terms, ordered := record.SplitTerms(entry.Terms)
		sets := bson.D{{Key: record.FieldTerms, Value: bson.D{{Key: "$each", Value: record.Terms(terms)}}}}
		if len(ordered) > 0 {
			sets = append(sets, bson.E{Key: record.FieldOrdered, Value: bson.D{{Key: "$each", Value: record.Terms(ordered)}}})
		}
		update := bson.D{{Key: "$addToSet", Value: sets}}
		if len(entry.Claims) > 0 {
			// Another transaction may be giving the record another value. The
			// two must conflict, and MongoDB ignores updates that change
			// nothing.
			update = append(update, bson.E{Key: "$set", Value: bson.D{{Key: record.FieldLock, Value: t.id}}})
		}
		err := updates.update(ctx, bson.D{{Key: record.FieldID, Value: record.ID(entry.Key)}}, update)
		if err != nil {
			return err
		}
	}
	if err := updates.all(ctx); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := addClaims(ctx, claims, entry.Claims, entry.ID); err != nil {
			return err
		}
	}
	return claims.send(ctx)
}

// Rewrite implements store.Tx.
func (t *transaction) Rewrite(ctx context.Context, collection string, records []store.Record) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	updates := t.updates(collection)
	for i := range records {
		r := &records[i]
		t.touch(r.Network, collection)
		if err := updates.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendDocument(dst, r) }); err != nil {
			return err
		}
	}
	return updates.all(ctx)
}

// RewriteHistory implements store.Tx.
func (t *transaction) RewriteHistory(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	updates, last := t.updates(changesCollection), ""
	for i := range changes {
		c := &changes[i]
		last = max(last, c.Position)
		t.touch(c.Network, changesCollection)
		if err := updates.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendFields(dst, c) }); err != nil {
			return err
		}
	}
	if err := updates.all(ctx); err != nil || last == "" {
		return err
	}
	t.touch("", storeCollection)
	mark := t.updates(storeCollection)
	if err := mark.update(ctx, bson.D{{Key: record.FieldID, Value: removedID}, {Key: fieldRewritten, Value: bson.D{{Key: "$lt", Value: last}}}},
		bson.D{{Key: "$set", Value: bson.D{{Key: fieldRewritten, Value: last}}}}); err != nil {
		return err
	}
	return mark.send(ctx)
}

// mark stores a marker of the transaction in each network that it wrote to. It
// decides an unknown outcome, and invalidates cached counts. The server deletes
// it after a day.
func (t *transaction) mark(ctx context.Context) (marker bson.Raw, err error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	inserts := t.inserts(commitsCollection)
	for network, collections := range t.touched {
		id := record.ID(store.Key{Network: network, ID: t.ordinal()})
		if marker == nil {
			marker = id
		}
		err := inserts.addD(ctx, bson.D{{Key: record.FieldID, Value: id}, {Key: "time", Value: bson.NewDateTimeFromTime(time.Unix(int64(t.at.T), 0))},
			{Key: "collections", Value: slices.Sorted(maps.Keys(collections))}, {Key: "tallies", Value: t.tallied(network)}})
		if err != nil {
			return nil, err
		}
	}
	return marker, inserts.send(ctx)
}

// talliedChange is a change of a tally in a marker. No N is an unknown change.
type talliedChange struct {
	Collection, Label string
	N                 *int64
}

// tallied returns the changes in a network. A marker has them even if there are none:
// those of earlier versions do not have the field.
func (t *transaction) tallied(network string) []talliedChange {
	changes := []talliedChange{}
	for _, c := range t.tallies {
		n := &c.N
		if c.Unknown {
			n = nil
		}
		if c.Network == network {
			changes = append(changes, talliedChange{c.Collection, c.Label, n})
		}
	}
	return changes
}
