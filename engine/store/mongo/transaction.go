package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
)

// transaction is a store.Tx in a session.
type transaction struct {
	view
	// id names the transaction; it is made anew for each run of the function.
	id string
	// at is the cluster's time when the transaction began: later than the
	// commit of all that it sees, and earlier than its own.
	at bson.Timestamp
	// touched are the collections that are written, by network.
	touched map[string]map[string]bool
	// appended is how many changes there are.
	appended int
	// flying brings the error of a command that is under way.
	flying chan error
}

var errVersion = &store.Error{Code: store.CodeConflict, Text: "a record is not at its expected version"}

func (t *transaction) touch(network, collection string) {
	if t.touched[network] == nil {
		t.touched[network] = map[string]bool{}
	}
	t.touched[network][collection] = true
}

// refuse ends the transaction for what its own snapshot holds.
func (t *transaction) refuse(err error) error {
	t.broken, t.again = err, refused
	return err
}

// Put implements store.Tx.
func (t *transaction) Put(ctx context.Context, collection string, writes []store.Write) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	drops := t.deletes(claimsCollection)
	for i := range writes {
		w := &writes[i]
		t.touch(w.Network, collection)
		for _, claim := range w.DropClaims {
			if err := drops.delete(ctx, bson.D{{Key: fieldID, Value: claimID(claim)}, {Key: "owner", Value: w.ID}}, 1); err != nil {
				return err
			}
		}
	}
	if err := drops.send(ctx); err != nil {
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

func (t *transaction) putRecords(ctx context.Context, collection string, writes []store.Write) error {
	inserts, updates := t.inserts(collection), t.updates(collection)
	for i := range writes {
		w, err := &writes[i], error(nil)
		switch {
		case w.Expected == 0:
			err = inserts.add(ctx, func(dst []byte) ([]byte, error) { return appendRecord(dst, w) })
		default:
			err = updates.add(ctx, func(dst []byte) ([]byte, error) { return appendUpdate(dst, w) })
		}
		if err != nil {
			return err
		}
	}
	if err := inserts.send(ctx); err != nil {
		return err
	}
	return updates.all(ctx)
}

// addClaims makes a record the owner of values, which it may be already. The
// filter of one that another owns matches nothing, and its upsert then meets
// the _id that is there.
func addClaims(ctx context.Context, b *bulk, claims []store.Claim, owner string) error {
	for _, claim := range claims {
		err := b.addD(ctx, bson.D{{Key: "q", Value: bson.D{{Key: fieldID, Value: claimID(claim)}, {Key: "owner", Value: owner}}},
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
		if err := inserts.add(ctx, func(dst []byte) ([]byte, error) { return appendChange(dst, id, c) }); err != nil {
			return err
		}
	}
	return inserts.send(ctx)
}

// ordinal orders transactions: one that has seen what another wrote comes
// behind it.
func (t *transaction) ordinal() string { return hexTime(t.at) + "-" + t.id }

func hexTime(at bson.Timestamp) string { return fmt.Sprintf("%08x%08x", at.T, at.I) }

// begin asks for the cluster's time, which comes with any answer of the
// transaction.
func (t *transaction) begin(ctx context.Context) error {
	if t.at.T > 0 {
		return nil
	}
	if t.session.OperationTime() == nil {
		err := t.rows(ctx, commitsCollection, bson.D{{Key: fieldID, Value: idOf(store.Key{ID: t.id})}}, func(bson.Raw) error { return nil })
		if err != nil {
			return err
		}
	}
	t.at = *t.session.OperationTime()
	return nil
}

// mark leaves a trace of the transaction in each network that it wrote to: by
// it an unknown outcome is told, and what was counted before is known to be
// out of date. The server deletes it after a while.
func (t *transaction) mark(ctx context.Context) (marker bson.Raw, err error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	inserts := t.inserts(commitsCollection)
	for network, collections := range t.touched {
		id := idOf(store.Key{Network: network, ID: t.ordinal()})
		if marker == nil {
			marker = id
		}
		err := inserts.addD(ctx, bson.D{{Key: fieldID, Value: id}, {Key: "time", Value: bson.NewDateTimeFromTime(time.Unix(int64(t.at.T), 0))},
			{Key: "collections", Value: slices.Sorted(maps.Keys(collections))}})
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
		err := updates.update(ctx, bson.D{{Key: fieldID, Value: idOf(entry.Key)}},
			bson.D{{Key: "$addToSet", Value: bson.D{{Key: fieldTerms, Value: bson.D{{Key: "$each", Value: termTexts(entry.Terms)}}}}}})
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
