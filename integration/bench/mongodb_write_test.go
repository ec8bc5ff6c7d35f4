package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"marquee/integration/mongodb"
)

// lineItems are 1,000 line items. Those of another edition have another price
// and another, indexed, end.
func lineItems(from, edition int) []any {
	list := make([]any, 1000)
	for i := range list {
		item := lineItem(from+i, 10)
		item["bidSpecification"] = map[string]any{"cpm": map[string]any{"amount": 4.5 + float64(edition), "currency": "EUR"}}
		item["endDate"] = time.Date(2030, 8, 31, 22, 0, edition, 0, time.UTC).Format(time.RFC3339)
		list[i] = item
	}
	return list
}

// BenchmarkMongoDBCollectionWrite compares a collection write of 1,000 objects
// over HTTP with the driver's own find by ids and bulk writes of the same
// documents and the same history, in one transaction with the same concerns
// into collections with the same indexes.
func BenchmarkMongoDBCollectionWrite(b *testing.B) {
	s, stored := onMongoDB(b, nil)
	s.load(b, 5000, 10)
	raw := copyCollections(b, stored)
	measure := func(b *testing.B, ours, baseline func() time.Duration) {
		interleaved(2, ours, baseline)
		b.ResetTimer()
		for range b.N {
			a, base := typical(11, ours, baseline)
			b.ReportMetric(float64(a)/float64(base), "time/driver")
			b.ReportMetric(milliseconds(a), "ms/1000objects")
		}
	}
	next := 10_000
	b.Run("new", func(b *testing.B) {
		measure(b, func() time.Duration {
			next += 1000
			return s.post(b, lineItems(next, 0))
		}, func() time.Duration { return raw.write(b, next, true) })
	})
	edition := 0
	b.Run("changed", func(b *testing.B) {
		measure(b, func() time.Duration {
			edition++
			return s.post(b, lineItems(next, edition))
		}, func() time.Duration { return raw.write(b, next, false) })
	})
}

// rawCollections are copies, with their indexes, of those that a write of line
// items goes to, in a database of their own.
type rawCollections struct{ source, copies *driver.Database }

func copyCollections(b *testing.B, source *driver.Database) rawCollections {
	raw := rawCollections{source, database(b, mongodb.URI(b))}
	ctx := context.Background()
	for _, name := range []string{"lineitems", "marquee.changes"} {
		cursor, err := source.Collection(name).Indexes().List(ctx)
		if err != nil {
			b.Fatal(err)
		}
		var indexes []bson.Raw
		if err := cursor.All(ctx, &indexes); err != nil {
			b.Fatal(err)
		}
		err = raw.copies.RunCommand(ctx, bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: indexes}}).Err()
		if err != nil {
			b.Fatal(err)
		}
	}
	return raw
}

// read finds the 1,000 documents that the service wrote last.
func (raw rawCollections) read(b *testing.B, collection string, filter bson.D) []bson.Raw {
	ctx := context.Background()
	cursor, err := raw.source.Collection(collection).Find(ctx, filter, options.Find().SetSort(bson.D{{Key: "_id.id", Value: -1}}).SetLimit(1000))
	if err != nil {
		b.Fatal(err)
	}
	var documents []bson.Raw
	if err := cursor.All(ctx, &documents); err != nil || len(documents) != 1000 {
		b.Fatal(len(documents), err)
	}
	return documents
}

// write copies the 1,000 objects from an id on, with their last changes, as the
// driver does it by itself.
func (raw rawCollections) write(b *testing.B, from int, isNew bool) time.Duration {
	b.Helper()
	records := raw.read(b, "lineitems", bson.D{{Key: "_id.network", Value: network}, {Key: "_id.id", Value: bson.D{
		{Key: "$gte", Value: fmt.Sprintf("li-%08d", from)}, {Key: "$lte", Value: fmt.Sprintf("li-%08d", from+999)}}}})
	changes := raw.read(b, "marquee.changes", bson.D{{Key: "_id.network", Value: network}, {Key: "collection", Value: "lineitems"}})
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	session, err := raw.copies.Client().StartSession()
	must(err)
	defer session.EndSession(context.Background())
	must(session.StartTransaction(options.Transaction().SetReadConcern(readconcern.Snapshot()).
		SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary())))
	ctx := driver.NewSessionContext(context.Background(), session)
	ids := make(bson.A, len(records))
	for i, record := range records {
		ids[i] = record.Lookup("_id")
	}
	cursor, err := raw.copies.Collection("lineitems").Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}},
		options.Find().SetBatchSize(1001))
	must(err)
	found := 0
	for ; cursor.Next(ctx); found++ {
		walk(cursor.Current)
	}
	must(cursor.Err())
	if isNew != (found == 0) || found > 0 && found != len(records) {
		b.Fatal("found", found)
	}
	writes, history := make([]driver.WriteModel, len(records)), make([]driver.WriteModel, len(changes))
	for i, record := range records {
		if isNew {
			writes[i] = driver.NewInsertOneModel().SetDocument(record)
		} else {
			writes[i] = driver.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: ids[i]}}).SetReplacement(record)
		}
		history[i] = driver.NewInsertOneModel().SetDocument(changes[i])
	}
	_, err = raw.copies.Collection("lineitems").BulkWrite(ctx, writes)
	must(err)
	_, err = raw.copies.Collection("marquee.changes").BulkWrite(ctx, history)
	must(err)
	must(session.CommitTransaction(ctx))
	return time.Since(began)
}
