package bench

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
	"marquee/engine/store"
)

// BenchmarkMongoDBPage compares a page of 100 line items with the driver's own
// find of the same documents and a walk over each element of them: of the
// store, and of the service over HTTP.
func BenchmarkMongoDBPage(b *testing.B) {
	s, stored := onMongoDB(b, nil)
	s.load(b, 10_000, 10)
	shown := bson.E{Key: "state", Value: bson.D{{Key: "$in", Value: bson.A{"ACTIVE", "INACTIVE"}}}}
	for _, list := range []struct {
		name         string
		parameters   map[string]string
		path         string
		filter, sort bson.D
		index        bson.D
	}{{
		name: "first", path: "",
		filter: bson.D{{Key: "_id.network", Value: network}, shown},
		sort:   bson.D{{Key: "createTime", Value: 1}, {Key: "_id.id", Value: 1}},
		index:  keys("_id.network", "createTime", "_id.id", "state"),
	}, {
		name: "filtered", path: "&where=order=o7&orderBy=name",
		parameters: map[string]string{"where": "order=o7", "orderBy": "name"},
		filter:     bson.D{{Key: "_id.network", Value: network}, {Key: "document.order", Value: "o7"}, shown},
		sort:       bson.D{{Key: "document.name", Value: 1}, {Key: "_id.id", Value: 1}},
		index:      keys("_id.network", "document.order", "document.name", "_id.id", "state"),
	}} {
		q := s.query(b, list.parameters)
		byStore := func() time.Duration { return s.find(b, q) }
		byHTTP := func() time.Duration {
			return s.page(b, "/api/v1/lineitems?context=main&count=false"+list.path)
		}
		byDriver := func() time.Duration {
			return findRaw(b, stored.Collection("lineitems"), list.filter, options.Find().SetSort(list.sort).SetHint(list.index).
				SetLimit(100).SetBatchSize(101).SetProjection(bson.D{{Key: "terms", Value: 0}}))
		}
		for level, ours := range map[string]func() time.Duration{"store": byStore, "http": byHTTP} {
			b.Run(list.name+"/"+level, func(b *testing.B) {
				interleaved(20, ours, byDriver)
				b.ResetTimer()
				for range b.N {
					a, base := typical(300, ours, byDriver)
					b.ReportMetric(float64(a)/float64(base), "time/driver")
					b.ReportMetric(milliseconds(a), "ms/page")
				}
			})
		}
	}
}

func keys(names ...string) (d bson.D) {
	for _, name := range names {
		d = append(d, bson.E{Key: name, Value: 1})
	}
	return d
}

// query is what a list of line items asks the store for.
func (s *service) query(b *testing.B, parameters map[string]string) query.Query {
	t, err := s.engine.Type("lineitems")
	if err != nil {
		b.Fatal(err)
	}
	list, err := query.ParseList(parameters, s.engine.Fields(t), "", time.Now())
	if err != nil {
		b.Fatal(err)
	}
	return query.Query{Collection: t.Name, Network: network, Where: list.Where, Order: list.Order, Limit: list.PageSize}
}

// find reads a page of 100 from the store.
func (s *service) find(b *testing.B, q query.Query) time.Duration {
	ctx, bytes, n := context.Background(), 0, 0
	began := time.Now()
	err := s.store.Read(ctx, func(view store.Snapshot) error {
		return view.Find(ctx, q, func(r *store.Record) error {
			n++
			bytes += len(r.Document)
			return nil
		})
	})
	took := time.Since(began)
	if err != nil || n != 100 || bytes < 100*100 {
		b.Fatal(n, bytes, err)
	}
	return took
}

// findRaw reads the same 100 without the store.
func findRaw(b *testing.B, collection *driver.Collection, filter bson.D, find *options.FindOptionsBuilder) time.Duration {
	ctx, elements, n := context.Background(), 0, 0
	began := time.Now()
	cursor, err := collection.Find(ctx, filter, find)
	if err != nil {
		b.Fatal(err)
	}
	for ; cursor.Next(ctx); n++ {
		elements += walk(cursor.Current)
	}
	took := time.Since(began)
	if err := cursor.Err(); err != nil || n != 100 || elements < 100*10 {
		b.Fatal(n, elements, err)
	}
	return took
}

// BenchmarkMongoDBList compares pages of a large database with those of a small
// one, as BenchmarkList does of files.
func BenchmarkMongoDBList(b *testing.B) {
	large := benchObjects(b)
	small, _ := onMongoDB(b, nil)
	small.load(b, 10_000, 10)
	big, _ := onMongoDB(b, nil)
	began := time.Now()
	big.load(b, large, large/1000)
	b.Logf("loaded %d objects in %.0f s", large, time.Since(began).Seconds())
	compareLists(b, big, small)
}
