package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// removedID is the key of a document with the id of the last change that was removed. It is
// not derived from the changes that are left, as their ids do not follow each other.
var removedID = record.ID(store.Key{ID: "removed"})

// fieldRewritten is the id of the last change that RewriteHistory has changed, in the same
// document. Stores of earlier versions do not have it: any change may have been rewritten.
const fieldRewritten = "rewritten"

// RemoveChanges implements store.Tx.
func (t *transaction) RemoveChanges(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := t.guard(ctx); err != nil || limit <= 0 {
		return 0, err
	}
	// The last of these stays in any case, so that the last change of the store does.
	old, err := t.oldest(ctx, limit+1)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	n := 0
	for _, c := range old[:len(old)-1] {
		if !c.Time.Before(before) {
			break
		}
		n++
		t.touch(c.Network, changesCollection)
		if !c.FeedOnly {
			t.tallies.Add(store.Place{Collection: changesCollection, Network: c.Network}, c.Collection, -1)
		}
	}
	if n == 0 {
		return 0, nil
	}
	// A deletion of the range takes much less time than one of each change.
	deletes := t.deletes(changesCollection)
	ids := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: record.KeyID, Value: bson.D{{Key: "$lte", Value: old[n-1].Position}}}}
	if err := deletes.addD(ctx, bson.D{{Key: "q", Value: ids}, {Key: "limit", Value: 0}, {Key: "hint", Value: plan.OwnIndex + "feed"}}); err != nil {
		return 0, err
	}
	if err := deletes.send(ctx); err != nil {
		return 0, err
	}
	if deletes.matched != int64(n) {
		return 0, t.refuse(errVersion)
	}
	t.touch("", storeCollection)
	mark := t.updates(storeCollection)
	err = mark.addD(ctx, bson.D{{Key: "q", Value: bson.D{{Key: record.FieldID, Value: removedID}}},
		{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "last", Value: old[n-1].Position}}}}}, {Key: "upsert", Value: true}})
	if err != nil {
		return 0, err
	}
	return n, mark.send(ctx)
}

// oldest returns the oldest changes, without what can be large.
func (t *transaction) oldest(ctx context.Context, limit int) (changes []store.Change, err error) {
	filter := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}}
	err = t.rows(ctx, changesCollection, filter, func(raw bson.Raw) error {
		c, err := record.Change(raw)
		changes = append(changes, c)
		return err
	}, options.Find().SetHint(plan.OwnIndex+"feed").SetSort(bson.D{{Key: record.KeyID, Value: 1}}).SetLimit(int64(limit)).SetBatchSize(batchSize(limit)).
		SetProjection(bson.D{{Key: "fields", Value: 0}, {Key: "cause", Value: 0}, {Key: "notices", Value: 0}}))
	return changes, err
}

// errRemoved has the code of a position behind which changes have been removed.
var errRemoved = &store.Error{Code: store.CodeTooOld, Text: "changes behind the position have been removed"}

// reaches returns errRemoved if stored changes behind an id have been removed.
func (v *view) reaches(ctx context.Context, id string) error {
	removed := ""
	err := v.rows(ctx, storeCollection, bson.D{{Key: record.FieldID, Value: removedID}}, func(raw bson.Raw) error {
		removed, _ = raw.Lookup("last").StringValueOK()
		return nil
	}, options.Find())
	if err == nil && id < removed {
		err = errRemoved
	}
	return err
}

// afterRemoved returns a time after which no transaction has begun of which changes had been
// removed, 0 if none had been.
func (p present) afterRemoved() bson.Timestamp {
	at, _ := parseTime(p.removed)
	if p.removed != "" {
		at.I++
	}
	return at
}
