package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// historyFilter is the filter of a history query.
func historyFilter(q store.HistoryQuery) bson.D {
	f := bson.D{{Key: record.KeyNetwork, Value: q.Network}}
	if q.Collection != "" {
		f = append(f, bson.E{Key: "collection", Value: q.Collection})
	}
	if q.ID != "" {
		f = append(f, bson.E{Key: "object", Value: q.ID})
	}
	if q.IDs != nil {
		f = append(f, bson.E{Key: "object", Value: bson.D{{Key: "$in", Value: q.IDs}}})
	}
	switch {
	case q.Collections != nil:
		f = append(f, bson.E{Key: "$and", Value: bson.A{bson.D{{Key: "collection", Value: bson.D{{Key: "$in", Value: q.Collections}}}}}})
	case q.Collection == "":
		f = append(f, bson.E{Key: "collection", Value: bson.D{{Key: "$gt", Value: ""}}})
	}
	return f
}

// historyHint names the index that has the order of the history. For several
// collections, MongoDB merges the entries of each.
func historyHint(q store.HistoryQuery) string {
	switch {
	case q.ID != "", q.IDs != nil:
		return plan.OwnIndex + "object"
	case q.Collection != "", q.Collections != nil:
		return plan.OwnIndex + "type"
	}
	return plan.OwnIndex + "key"
}

// History implements store.Snapshot.
func (v *view) History(ctx context.Context, q store.HistoryQuery, yield func(*store.Change) error) error {
	if q.Limit <= 0 {
		return v.guard(ctx)
	}
	if q.Notices {
		return v.notices(ctx, q, yield)
	}
	filter, skip := historyFilter(q), int64(q.Offset)
	if q.After != "" {
		filter, skip = append(filter, bson.E{Key: record.KeyID, Value: bson.D{{Key: "$lt", Value: q.After}}}), 0
	}
	return v.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
		c, err := record.Change(raw)
		if err != nil {
			return err
		}
		return yield(&c)
	}, options.Find().SetSort(bson.D{{Key: record.KeyID, Value: -1}}).SetHint(historyHint(q)).SetSkip(skip).SetLimit(int64(q.Limit)).SetBatchSize(batchSize(q.Limit)))
}

// HistoryCount implements store.Snapshot.
func (v *view) HistoryCount(ctx context.Context, q store.HistoryQuery) (n int64, err error) {
	if q.Notices {
		return v.noticeCount(ctx, q)
	}
	if q.ID == "" && q.IDs == nil && v.tallied() {
		whole := store.HistoryQuery{Network: q.Network}
		return v.sumTally(ctx, store.Place{Collection: changesCollection, Network: q.Network}, q.Includes, func() (map[string]int64, error) {
			return v.tally(ctx, changesCollection, historyFilter(whole), "collection", historyCountHint(whole))
		})
	}
	return v.count(ctx, changesCollection, historyFilter(q), 0, historyCountHint(q))
}

// historyCountHint names an index that holds the collections, so that a count
// reads no change.
func historyCountHint(q store.HistoryQuery) string {
	if q.ID == "" && q.IDs == nil {
		return plan.OwnIndex + "type"
	}
	return historyHint(q)
}

// noticeFilter is the filter on changes of a notice query.
func noticeFilter(q store.HistoryQuery) bson.D {
	return bson.D{{Key: record.KeyNetwork, Value: q.Network}, {Key: "owner", Value: q.Owner}, record.OfCollections("", q.Collections)}
}

// noticesPipeline selects a page of notices, newest first.
func noticesPipeline(q store.HistoryQuery) bson.A {
	filter, behind, skip := noticeFilter(q), bson.D{}, int64(q.Offset)
	if q.After != "" {
		filter, skip = append(filter, bson.E{Key: record.KeyID, Value: bson.D{{Key: "$lte", Value: q.After}}}), 0
		behind = bson.D{{Key: "$or", Value: bson.A{
			bson.D{{Key: record.KeyID, Value: bson.D{{Key: "$lt", Value: q.After}}}},
			bson.D{{Key: "index", Value: bson.D{{Key: "$gt", Value: q.AfterNotice}}}}}}}
	}
	return bson.A{
		bson.D{{Key: "$match", Value: filter}},
		bson.D{{Key: "$sort", Value: bson.D{{Key: record.KeyID, Value: -1}}}},
		bson.D{{Key: "$unset", Value: bson.A{"fields", "cause"}}},
		bson.D{{Key: "$unwind", Value: bson.D{{Key: "path", Value: "$notices"}, {Key: "includeArrayIndex", Value: "index"}}}},
		bson.D{{Key: "$match", Value: behind}},
		bson.D{{Key: "$skip", Value: skip}},
		bson.D{{Key: "$limit", Value: int64(q.Limit)}},
	}
}

// notices yields the changes of a query of notices.
func (v *view) notices(ctx context.Context, q store.HistoryQuery, yield func(*store.Change) error) error {
	return v.aggregate(ctx, changesCollection, noticesPipeline(q), plan.OwnIndex+"owner", q.Limit, func(raw bson.Raw) error {
		c, err := record.Change(raw)
		if err != nil {
			return err
		}
		index, _ := raw.Lookup("index").AsInt64OK()
		c.Notice = int(index)
		return yield(&c)
	})
}

// noticeCount returns their number.
func (v *view) noticeCount(ctx context.Context, q store.HistoryQuery) (int64, error) {
	pipeline := bson.A{bson.D{{Key: "$match", Value: noticeFilter(q)}}, bson.D{{Key: "$group", Value: bson.D{{Key: record.FieldID, Value: nil},
		{Key: "n", Value: bson.D{{Key: "$sum", Value: bson.D{{Key: "$size", Value: "$notices"}}}}}}}}}
	return v.sum(ctx, changesCollection, pipeline, plan.OwnIndex+"owner")
}

// ScanHistory implements store.Snapshot.
func (v *view) ScanHistory(ctx context.Context, collection, after string, limit int) ([]store.Change, error) {
	if limit <= 0 {
		return nil, v.guard(ctx)
	}
	var changes []store.Change
	filter := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: record.KeyID, Value: bson.D{{Key: "$gt", Value: after}}},
		{Key: "collection", Value: collection}}
	err := v.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
		c, err := record.Change(raw)
		changes = append(changes, c)
		return err
	}, options.Find().SetHint(plan.OwnIndex+"feed").SetSort(bson.D{{Key: record.KeyID, Value: 1}}).SetLimit(int64(limit)).SetBatchSize(batchSize(limit)))
	return changes, err
}
