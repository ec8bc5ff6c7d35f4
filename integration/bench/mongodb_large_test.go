package bench

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"marquee/engine/store"
	"marquee/integration/mongodb"
)

// BenchmarkMongoDBLargeTransaction writes 100,000 line items with their history
// in one transaction of the store: the time, which MongoDB limits to 60 s, the
// most memory that this process had, and the most that the server's cache held
// of what was not written to its files.
func BenchmarkMongoDBLargeTransaction(b *testing.B) {
	const objects = 100_000
	set := mongodb.NewReplicaSet(b, 1)
	s, stored := onDatabase(b, set.URI("marquee"), nil)
	enlarge(b, set.Client())
	s.load(b, 1, 1)
	ctx := context.Background()
	var one struct{ Terms []string }
	if err := stored.Collection("lineitems").FindOne(ctx, bson.D{{Key: "_id.network", Value: network}}).Decode(&one); err != nil {
		b.Fatal(err)
	}
	var record store.Record
	var change store.Change
	err := s.store.Read(ctx, func(view store.Snapshot) error {
		err := view.History(ctx, store.HistoryQuery{Network: network, Collection: "lineitems", Limit: 1}, func(c *store.Change) error {
			change = *c
			change.Fields = bytes.Clone(c.Fields)
			return nil
		})
		if err != nil {
			return err
		}
		return view.Scan(ctx, "lineitems", store.Key{}, 1, func(r *store.Record) error {
			record = *r
			record.Document = bytes.Clone(r.Document)
			return nil
		})
	})
	if err != nil {
		b.Fatal(err)
	}
	from := 0
	// another is the line item as one with another id and name.
	another := func() (store.Write, store.Change) {
		from++
		w, c, number := store.Write{Record: record}, change, fmt.Sprintf("%08d", from)
		w.ID = "large-" + number
		w.Document = bytes.Replace(record.Document, []byte("Line item 00000000"), []byte("Line item "+number), 1)
		for _, text := range one.Terms {
			key, value, _ := strings.Cut(text, "=")
			w.AddTerms = append(w.AddTerms, store.Term{Key: key, Value: strings.Replace(value, "00000000", number, 1)})
		}
		c.ID, c.Fields = w.ID, bytes.Replace(change.Fields, []byte("Line item 00000000"), []byte("Line item "+number), 1)
		return w, c
	}
	for range b.N {
		b.StopTimer()
		writes, changes := make([]store.Write, objects), make([]store.Change, objects)
		for i := range writes {
			writes[i], changes[i] = another()
		}
		debug.FreeOSMemory()
		before := inUse()
		watched := watch(stored)
		b.StartTimer()
		began := time.Now()
		err := s.store.Write(ctx, func(tx store.Tx) error {
			if err := tx.Put(ctx, "lineitems", writes); err != nil {
				return err
			}
			return tx.Append(ctx, changes)
		})
		took := time.Since(began)
		memory, unwritten := watched()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(took.Seconds(), "s/transaction")
		b.ReportMetric(memory-before, "MB")
		b.ReportMetric(unwritten, "server-dirtyMB")
	}
}

// enlarge gives a server a cache that holds the whole transaction, of which a
// tenth may be what is not committed yet. It takes the memory only as it needs it.
func enlarge(b *testing.B, client *driver.Client) {
	err := client.Database("admin").RunCommand(context.Background(), bson.D{{Key: "setParameter", Value: 1},
		{Key: "wiredTigerEngineRuntimeConfig", Value: "cache_size=10G"}}).Err()
	if err != nil {
		b.Fatal(err)
	}
}

// inUse is the memory, in MB, that this process has from the system.
func inUse() float64 {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return float64(now.Sys-now.HeapReleased) / (1 << 20)
}

// watch looks at the memory in use, and at what the server's cache has not
// written to its files, until it is asked for the most that it saw.
func watch(db *driver.Database) (most func() (memory, unwritten float64)) {
	var memory, unwritten float64
	enough, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			memory = max(memory, inUse())
			var status struct {
				WiredTiger struct {
					Cache struct {
						Dirty float64 `bson:"tracked dirty bytes in the cache"`
					}
				} `bson:"wiredTiger"`
			}
			err := db.Client().Database("admin").RunCommand(context.Background(), bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
			if err == nil {
				unwritten = max(unwritten, status.WiredTiger.Cache.Dirty/(1<<20))
			}
			select {
			case <-enough:
				return
			case <-tick.C:
			}
		}
	}()
	return func() (float64, float64) {
		close(enough)
		<-ended
		return memory, unwritten
	}
}
