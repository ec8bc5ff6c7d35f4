package mongo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

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
	var inserts, updates, drops, adds []mongo.WriteModel
	for i := range writes {
		w := &writes[i]
		t.touch(w.Network, collection)
		models, err := recordModels(w)
		if err != nil {
			return t.ended(ctx, err)
		}
		if w.Expected == 0 {
			inserts = append(inserts, models...)
		} else {
			updates = append(updates, models...)
		}
		for _, claim := range w.DropClaims {
			drops = append(drops, mongo.NewDeleteOneModel().SetFilter(bson.D{{Key: fieldID, Value: claimID(claim)}, {Key: "owner", Value: w.ID}}))
		}
		adds = append(adds, claimModels(w.AddClaims, w.ID)...)
	}
	if err := t.bulk(ctx, claimsCollection, drops, false); err != nil {
		return err
	}
	if err := t.bulk(ctx, collection, inserts, false); err != nil {
		return err
	}
	if err := t.bulk(ctx, collection, updates, true); err != nil {
		return err
	}
	return t.bulk(ctx, claimsCollection, adds, false)
}

// bulk writes models in order. Where all must match, one that matches nothing
// is a record that is not as expected, which MongoDB itself takes no notice of.
func (t *transaction) bulk(ctx context.Context, collection string, models []mongo.WriteModel, allMatch bool) error {
	if len(models) == 0 {
		return nil
	}
	result, err := t.s.db.Collection(collection).BulkWrite(t.in(ctx), models)
	if err != nil {
		return t.ended(ctx, err)
	}
	if allMatch && result.MatchedCount != int64(len(models)) {
		return t.refuse(errVersion)
	}
	return nil
}

// recordModels are the operations that write one record.
func recordModels(w *store.Write) ([]mongo.WriteModel, error) {
	doc, err := fromJSON(w.Document)
	if err != nil {
		return nil, err
	}
	var warnings bson.Raw
	if len(w.Warnings) > 0 {
		if warnings, err = fromJSON(w.Warnings); err != nil {
			return nil, err
		}
	}
	id := idOf(w.Key)
	if w.Expected == 0 {
		raw, err := newDocument(w, id, doc, warnings)
		return []mongo.WriteModel{mongo.NewInsertOneModel().SetDocument(raw)}, err
	}
	set := bson.D{{Key: fieldVersion, Value: w.Version}, {Key: fieldState, Value: w.State}, {Key: fieldUpdateTime, Value: bson.NewDateTimeFromTime(w.UpdateTime)},
		{Key: fieldUpdateUser, Value: w.UpdateUser}, {Key: fieldDocument, Value: doc}}
	update := bson.D{}
	if warnings != nil {
		set = append(set, bson.E{Key: fieldWarnings, Value: bson.RawValue{Type: bson.TypeArray, Value: warnings}})
	} else {
		update = append(update, bson.E{Key: "$unset", Value: bson.D{{Key: fieldWarnings, Value: ""}}})
	}
	update = append(update, bson.E{Key: "$set", Value: set})
	expected := bson.D{{Key: fieldID, Value: id}, {Key: fieldVersion, Value: w.Expected}}
	add := bson.E{Key: "$addToSet", Value: bson.D{{Key: fieldTerms, Value: bson.D{{Key: "$each", Value: termTexts(w.AddTerms)}}}}}
	switch {
	case len(w.DropTerms) > 0:
		update = append(update, bson.E{Key: "$pullAll", Value: bson.D{{Key: fieldTerms, Value: termTexts(w.DropTerms)}}})
	case len(w.AddTerms) > 0:
		update = append(update, add)
	}
	models := []mongo.WriteModel{mongo.NewUpdateOneModel().SetFilter(expected).SetUpdate(update)}
	if len(w.DropTerms) > 0 && len(w.AddTerms) > 0 { // one update cannot do both to an array
		models = append(models, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: fieldID, Value: id}, {Key: fieldVersion, Value: w.Version}}).SetUpdate(bson.D{add}))
	}
	return models, nil
}

// newDocument is a record that is not stored yet.
func newDocument(w *store.Write, id, doc, warnings bson.Raw) (bson.Raw, error) {
	start, raw := bsoncore.AppendDocumentStart(make([]byte, 0, len(doc)+len(warnings)+512))
	raw = bsoncore.AppendDocumentElement(raw, fieldID, bsoncore.Document(id))
	raw = bsoncore.AppendInt64Element(raw, fieldVersion, w.Version)
	raw = bsoncore.AppendStringElement(raw, fieldState, w.State)
	raw = bsoncore.AppendDateTimeElement(raw, fieldCreateTime, w.CreateTime.UnixMilli())
	raw = bsoncore.AppendDateTimeElement(raw, fieldUpdateTime, w.UpdateTime.UnixMilli())
	raw = bsoncore.AppendStringElement(raw, fieldCreateUser, w.CreateUser)
	raw = bsoncore.AppendStringElement(raw, fieldUpdateUser, w.UpdateUser)
	if warnings != nil {
		raw = bsoncore.AppendArrayElement(raw, fieldWarnings, bsoncore.Array(warnings))
	}
	if len(w.AddTerms) > 0 {
		terms, err := bson.Marshal(bson.D{{Key: fieldTerms, Value: uniqueTexts(w.AddTerms)}})
		if err != nil {
			return nil, err
		}
		raw = append(raw, terms[4:len(terms)-1]...)
	}
	raw = bsoncore.AppendDocumentElement(raw, fieldDocument, bsoncore.Document(doc))
	return bsoncore.AppendDocumentEnd(raw, start)
}

// claimModels make a record the owner of values, which it may be already. The
// filter of one that another owns matches nothing, and its upsert then meets
// the _id that is there.
func claimModels(claims []store.Claim, owner string) []mongo.WriteModel {
	var models []mongo.WriteModel
	for _, claim := range claims {
		models = append(models, mongo.NewUpdateOneModel().SetUpsert(true).SetFilter(bson.D{{Key: fieldID, Value: claimID(claim)}, {Key: "owner", Value: owner}}).
			SetUpdate(bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "owner", Value: owner}}}}))
	}
	return models
}

// Append implements store.Tx.
func (t *transaction) Append(ctx context.Context, changes []store.Change) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	if err := t.begin(ctx); err != nil {
		return err
	}
	models := make([]mongo.WriteModel, len(changes))
	for i := range changes {
		c := &changes[i]
		fields, err := fromJSON(c.Fields)
		if err != nil {
			return t.ended(ctx, err)
		}
		id := fmt.Sprintf("%s-%06x", t.ordinal(), t.appended)
		t.appended++
		t.touch(c.Network, changesCollection)
		models[i] = mongo.NewInsertOneModel().SetDocument(bson.D{{Key: fieldID, Value: idOf(store.Key{Network: c.Network, ID: id})},
			{Key: "time", Value: bson.NewDateTimeFromTime(c.Time)}, {Key: "collection", Value: c.Collection}, {Key: "object", Value: c.ID},
			{Key: fieldVersion, Value: c.Version}, {Key: "user", Value: c.User}, {Key: "fields", Value: bson.RawValue{Type: bson.TypeArray, Value: fields}}})
	}
	return t.bulk(ctx, changesCollection, models, false)
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
	var models []mongo.WriteModel
	for network, collections := range t.touched {
		id := idOf(store.Key{Network: network, ID: t.ordinal()})
		if marker == nil {
			marker = id
		}
		models = append(models, mongo.NewInsertOneModel().SetDocument(bson.D{{Key: fieldID, Value: id}, {Key: "time", Value: bson.NewDateTimeFromTime(time.Unix(int64(t.at.T), 0))},
			{Key: "collections", Value: slices.Sorted(maps.Keys(collections))}}))
	}
	return marker, t.bulk(ctx, commitsCollection, models, false)
}

// Index implements store.Tx.
func (t *transaction) Index(ctx context.Context, collection string, entries []store.Entry) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	var updates, claims []mongo.WriteModel
	for _, entry := range entries {
		t.touch(entry.Network, collection)
		updates = append(updates, mongo.NewUpdateOneModel().SetFilter(bson.D{{Key: fieldID, Value: idOf(entry.Key)}}).
			SetUpdate(bson.D{{Key: "$addToSet", Value: bson.D{{Key: fieldTerms, Value: bson.D{{Key: "$each", Value: termTexts(entry.Terms)}}}}}}))
		claims = append(claims, claimModels(entry.Claims, entry.ID)...)
	}
	if err := t.bulk(ctx, collection, updates, true); err != nil {
		return err
	}
	return t.bulk(ctx, claimsCollection, claims, false)
}
