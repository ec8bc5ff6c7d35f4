package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
)

// storedChange is a change as it is stored. Its id orders changes: one that
// has seen another comes behind it.
type storedChange struct {
	ID         struct{ Network, ID string } `bson:"_id"`
	Time       bson.DateTime
	Collection string
	Object     string
	Version    int64
	User       string
	Fields     bson.RawValue
	Owner      string
	Notices    bson.RawValue
}

// change reads a stored change and its id, which is its position until the feed
// tells a better one.
func change(raw bson.Raw) (store.Change, string, error) {
	var c storedChange
	if err := bson.Unmarshal(raw, &c); err != nil {
		return store.Change{}, "", err
	}
	fields, err := jsonOf(c.Fields)
	if err != nil {
		return store.Change{}, "", err
	}
	notices, err := jsonOf(c.Notices)
	return store.Change{Position: c.ID.ID, Time: c.Time.Time().UTC(), Network: c.ID.Network, Collection: c.Collection, ID: c.Object,
		Version: c.Version, User: c.User, Owner: c.Owner, Fields: fields, Notices: notices}, c.ID.ID, err
}

// jsonOf is a value as JSON, nil for none.
func jsonOf(value bson.RawValue) ([]byte, error) {
	if value.IsZero() {
		return nil, nil
	}
	w := jsonWriter{}
	err := w.value(bsoncore.Type(value.Type), value.Value)
	return w.out, err
}

// historyFilter is the condition of a history query.
func historyFilter(q store.HistoryQuery) bson.D {
	f := bson.D{{Key: keyNetwork, Value: q.Network}}
	if q.Collection != "" {
		f = append(f, bson.E{Key: "collection", Value: q.Collection})
	}
	if q.ID != "" {
		f = append(f, bson.E{Key: "object", Value: q.ID})
	}
	if q.Collections != nil {
		f = append(f, bson.E{Key: "$and", Value: bson.A{bson.D{{Key: "collection", Value: bson.D{{Key: "$in", Value: q.Collections}}}}}})
	}
	return f
}

// historyHint is the index whose order is the history's.
func historyHint(q store.HistoryQuery) string {
	switch {
	case q.ID != "":
		return ownIndex + "object"
	case q.Collection != "":
		return ownIndex + "type"
	}
	return ownIndex + "key"
}

// History implements store.Snapshot.
func (v *view) History(ctx context.Context, q store.HistoryQuery) ([]store.Change, error) {
	if q.Limit <= 0 {
		return nil, v.guard(ctx)
	}
	var changes []store.Change
	err := v.rows(ctx, changesCollection, historyFilter(q), func(raw bson.Raw) error {
		c, _, err := change(raw)
		changes = append(changes, c)
		return err
	}, options.Find().SetSort(bson.D{{Key: keyID, Value: -1}}).SetHint(historyHint(q)).SetSkip(int64(q.Offset)).SetLimit(int64(q.Limit)).SetBatchSize(batchSize(q.Limit)))
	return changes, err
}

// HistoryCount implements store.Snapshot.
func (v *view) HistoryCount(ctx context.Context, q store.HistoryQuery) (n int64, err error) {
	hint := historyHint(q)
	if q.ID == "" {
		hint = ownIndex + "type" // holds the collections
	}
	pipeline := bson.A{bson.D{{Key: "$match", Value: historyFilter(q)}}, bson.D{{Key: "$count", Value: "n"}}}
	return v.aggregate(ctx, changesCollection, pipeline, options.Aggregate().SetHint(hint))
}

// noticePipeline finds the changes of a notice query, newest first.
func noticePipeline(q store.NoticeQuery, then ...bson.D) bson.A {
	match := bson.D{{Key: keyNetwork, Value: q.Network}, {Key: "owner", Value: q.Owner}, {Key: "collection", Value: bson.D{{Key: "$in", Value: q.Collections}}}}
	pipeline := bson.A{bson.D{{Key: "$match", Value: match}}, bson.D{{Key: "$sort", Value: bson.D{{Key: keyID, Value: -1}}}}}
	for _, stage := range then {
		pipeline = append(pipeline, stage)
	}
	return pipeline
}

// Notices implements store.Snapshot.
func (v *view) Notices(ctx context.Context, q store.NoticeQuery) ([]store.Notice, error) {
	if err := v.guard(ctx); err != nil || q.Limit <= 0 {
		return nil, err
	}
	pipeline := noticePipeline(q, bson.D{{Key: "$unset", Value: "fields"}}, bson.D{{Key: "$unwind", Value: "$notices"}},
		bson.D{{Key: "$skip", Value: int64(q.Offset)}}, bson.D{{Key: "$limit", Value: int64(q.Limit)}})
	var notices []store.Notice
	cursor, err := v.collection(changesCollection).Aggregate(v.in(ctx), pipeline, options.Aggregate().SetHint(ownIndex+"owner").SetBatchSize(batchSize(q.Limit)))
	err = v.drain(ctx, changesCollection, cursor, err, func(raw bson.Raw) error {
		c, _, err := change(raw)
		notice := store.Notice{Change: c, Text: c.Notices}
		notice.Notices = nil
		notices = append(notices, notice)
		return err
	})
	return notices, err
}

// NoticeCount implements store.Snapshot.
func (v *view) NoticeCount(ctx context.Context, q store.NoticeQuery) (int64, error) {
	pipeline := noticePipeline(q, bson.D{{Key: "$group", Value: bson.D{{Key: fieldID, Value: nil},
		{Key: "n", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$size", Value: "$notices"}}}}}}}})
	return v.aggregate(ctx, changesCollection, pipeline, options.Aggregate().SetHint(ownIndex+"owner"))
}
