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

// transaction is a store.Tx in a session.
type transaction struct {
	view
	// done ends the view's term, and what the store does while a transaction is open.
	done context.CancelFunc
	// id identifies the transaction. Each run of the function has a new one.
	id string
	// at is the cluster's time when the transaction began: later than the
	// commits that it sees, earlier than its own.
	at bson.Timestamp
	// touched holds the collections that were written, by network.
	touched map[string]map[string]bool
	// tallies are the changes of what is counted.
	tallies store.TallyChanges
	// appended is the number of changes.
	appended int
	// inFlight receives the error of the command in flight.
	inFlight chan error
	// place is the transaction in the admission; items and bytes are what it
	// has sent.
	place        *admitted
	items, bytes int64
	// locked reports whether the transaction has locked records.
	locked bool
	// left reports whether the server has not heard that the transaction failed.
	left bool
	// ahead are the records that were read before they were asked for.
	ahead ahead
}

var errVersion = &store.Error{Code: store.CodeConflict, Text: "a record is not at its expected revision"}

func (t *transaction) touch(network, collection string) {
	if t.touched[network] == nil {
		t.touched[network] = map[string]bool{}
	}
	t.touched[network][collection] = true
	t.ahead.forget(collection)
}

// refuse ends the transaction because of what its own snapshot contains.
func (t *transaction) refuse(err error) error {
	t.broken, t.again = err, refused
	return err
}

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

// disclaim drops the claims that writes give up.
func (t *transaction) disclaim(ctx context.Context, writes []store.Write) error {
	drops := t.deletes(claimsCollection)
	for i := range writes {
		for _, claim := range writes[i].DropClaims {
			if err := drops.delete(ctx, bson.D{{Key: record.FieldID, Value: claimID(claim)}, {Key: "owner", Value: writes[i].ID}}, 1); err != nil {
				return err
			}
		}
	}
	return drops.send(ctx)
}

// Remove implements store.Tx. Terms are part of the record.
func (t *transaction) Remove(ctx context.Context, collection string, writes []store.Write) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.disclaim(ctx, writes); err != nil {
		return err
	}
	records := t.deletes(collection)
	for i := range writes {
		w, place := &writes[i], store.Place{Collection: collection, Network: writes[i].Network}
		t.touch(w.Network, collection)
		if w.Was == "" {
			t.tallies.Forget(place)
		} else { // record.AppendRemoval demands the state
			t.tallies.Add(place, w.Was, -1)
		}
		if err := records.add(ctx, func(dst []byte) ([]byte, error) { return record.AppendRemoval(dst, w), nil }); err != nil {
			return err
		}
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

// Drop implements store.Tx.
func (t *transaction) Drop(ctx context.Context, collection string, keys []store.Key) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	records := t.deletes(collection)
	for _, key := range keys {
		t.touch(key.Network, collection)
		t.tallies.Forget(store.Place{Collection: collection, Network: key.Network})
		if err := records.delete(ctx, bson.D{{Key: record.FieldID, Value: record.ID(key)}}, 1); err != nil {
			return err
		}
	}
	return records.send(ctx)
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

// addClaims makes a record the owner of values; it may own some already. The
// filter of a value with another owner matches nothing, so its upsert conflicts
// with the existing _id.
func addClaims(ctx context.Context, b *bulk, claims []store.Claim, owner string) error {
	for _, claim := range claims {
		err := b.addD(ctx, bson.D{{Key: "q", Value: bson.D{{Key: record.FieldID, Value: claimID(claim)}, {Key: "owner", Value: owner}}},
			{Key: "u", Value: bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "owner", Value: owner}}}}}, {Key: "upsert", Value: true}})
		if err != nil {
			return err
		}
	}
	return nil
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

// ordinal orders transactions: each comes after those whose writes it has seen.
func (t *transaction) ordinal() string { return hexTime(t.at) + "-" + t.id }

func hexTime(at bson.Timestamp) string { return fmt.Sprintf("%08x%08x", at.T, at.I) }

// begin reads the cluster's time, which is part of every answer in the
// transaction.
func (t *transaction) begin(ctx context.Context) error {
	if t.at.T > 0 {
		return nil
	}
	if t.session.OperationTime() == nil {
		err := t.rows(ctx, commitsCollection, bson.D{{Key: record.FieldID, Value: record.ID(store.Key{ID: t.id})}}, func(bson.Raw) error { return nil })
		if err != nil {
			return err
		}
	}
	t.at = *t.session.OperationTime()
	return nil
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
