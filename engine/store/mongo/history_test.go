package mongo

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
	"marquee/integration/mongodb"
)

// TestUpgradeFirst checks that data of version 1 is readable and writable. The
// revision of its records is their version.
func TestUpgradeFirst(t *testing.T) {
	uri := mongodb.URI(t)
	s := openTest(t, Options{URI: uri})
	key := store.Key{Network: "n", ID: "old"}
	now := bson.NewDateTimeFromTime(time.UnixMilli(1))
	insert := func(collection string, document bson.D) {
		t.Helper()
		if _, err := s.db.Collection(collection).InsertOne(t.Context(), document); err != nil {
			t.Fatal(err)
		}
	}
	ensure := func() {
		t.Helper()
		if err := s.EnsureCollections(t.Context(), []store.Collection{{Name: "things"}}); err != nil {
			t.Fatal(err)
		}
	}
	ensure()
	insert("things", bson.D{{Key: record.FieldID, Value: record.ID(key)}, {Key: record.FieldCreateTime, Value: now}, {Key: record.FieldCreateUser, Value: "u"}, {Key: record.FieldVersion, Value: int64(5)},
		{Key: record.FieldState, Value: "ACTIVE"}, {Key: record.FieldUpdateTime, Value: now}, {Key: record.FieldUpdateUser, Value: "u"}, {Key: record.FieldDocument, Value: bson.D{}}})
	insert(changesCollection, bson.D{{Key: record.FieldID, Value: record.ID(store.Key{Network: "n", ID: "0000000100000001-1-000000"})}, {Key: "time", Value: now},
		{Key: "collection", Value: "things"}, {Key: "object", Value: "old"}, {Key: record.FieldVersion, Value: int64(5)}, {Key: "user", Value: "u"}, {Key: "fields", Value: bson.A{}}})
	set := bson.D{{Key: "$set", Value: bson.D{{Key: record.FieldVersion, Value: int64(1)}}}}
	if _, err := s.db.Collection(storeCollection).UpdateOne(t.Context(), bson.D{{Key: record.FieldID, Value: metaID}}, set); err != nil {
		t.Fatal(err)
	}

	for revision := int64(5); revision < 8; revision++ {
		s = openTest(t, Options{URI: uri})
		ensure()
		if version, err := s.version(t.Context()); err != nil || version != storeVersion {
			t.Errorf("the store is of version %d, %v", version, err)
		}
		var record store.Record
		if err := s.Read(t.Context(), func(snapshot store.Snapshot) error {
			var changes []store.Change
			err := snapshot.History(t.Context(), store.HistoryQuery{Network: "n", Collection: "things", ID: "old", Limit: 10}, func(c *store.Change) error {
				changes = append(changes, *c)
				return nil
			})
			if err != nil {
				return err
			}
			if len(changes) != 1 || changes[0].Revision != 5 || changes[0].Version != 5 {
				t.Errorf("the history has %+v", changes)
			}
			return snapshot.Get(t.Context(), "things", []store.Key{key}, func(r *store.Record) error {
				record = *r
				record.Document = []byte(string(r.Document))
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		if record.Revision != revision || record.Version != 5 {
			t.Errorf("the record is at revision %d of version %d, want %d of 5", record.Revision, record.Version, revision)
		}
		if err := s.Write(t.Context(), func(tx store.Tx) error {
			if err := tx.Put(t.Context(), "things", []store.Write{{Record: record, Expected: revision}}); err != nil {
				return err
			}
			return tx.Append(t.Context(), []store.Change{{Time: record.UpdateTime, Network: "n", Collection: "things", ID: "old",
				Revision: revision + 1, Version: 5, FeedOnly: true, Fields: []byte("[]")}})
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHistoryPlans checks that a page of the history reads only its own
// changes, however many of the feed or of other types are between them, and
// that a count reads none.
func TestHistoryPlans(t *testing.T) {
	s := openTest(t, Options{})
	if err := s.Write(t.Context(), func(tx store.Tx) error {
		var changes []store.Change
		for i := range 1000 {
			for _, collection := range []string{"things", "others", "hidden"} {
				changes = append(changes, store.Change{Time: time.UnixMilli(1), Network: "n", Collection: collection, ID: fmt.Sprint(i % 10),
					Revision: int64(i + 1), Version: int64(i/100 + 1), FeedOnly: i%100 > 0, Fields: []byte("[]")})
			}
		}
		return tx.Append(t.Context(), changes)
	}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []store.HistoryQuery{
		{Network: "n", Collection: "things", ID: "0", Collections: []string{"others", "things"}},
		{Network: "n", Collection: "things", Collections: []string{"others", "things"}},
		{Network: "n", Collections: []string{"others", "things"}},
	} {
		q.Limit = 4
		find := bson.D{{Key: "find", Value: changesCollection}, {Key: "filter", Value: historyFilter(q)},
			{Key: "sort", Value: bson.D{{Key: record.KeyID, Value: -1}}}, {Key: "limit", Value: q.Limit}, {Key: "hint", Value: historyHint(q)}}
		if did := explain(t, s, find); did.returned != 4 || did.records > 4 || did.keys > 10 || did.sorts || did.walksAll {
			t.Errorf("%+v reads %d records and %d keys\n%s", q, did.records, did.keys, did.text)
		}
		count := bson.D{{Key: "aggregate", Value: changesCollection}, {Key: "pipeline", Value: countPipeline(historyFilter(q), 0)},
			{Key: "cursor", Value: bson.D{}}, {Key: "hint", Value: historyCountHint(q)}}
		if did := explain(t, s, count); did.records != 0 || did.keys > 30 {
			t.Errorf("the count of %+v reads %d records and %d keys\n%s", q, did.records, did.keys, did.text)
		}
	}
}
