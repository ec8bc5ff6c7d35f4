package mongo

import (
	"context"
	"maps"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// view is a store.Snapshot on a session.
type view struct {
	s       *Store
	session *mongo.Session
	ctx     context.Context
	// term ends when another primary is elected, and with the view.
	term context.Context
	// broken is the error that ended the view, and again whether its Read or
	// Write may be retried.
	broken error
	again  retry
	// begun is set by the first read: a snapshot that was current then may be used for
	// as long as it lasts.
	begun bool
	// latest makes reads go to the primary, because the result must reflect
	// every commit.
	latest bool
}

// collection returns a collection with the read preference of the view.
func (v *view) collection(name string) *mongo.Collection {
	opts := options.Collection()
	if v.latest {
		opts.SetReadPreference(readpref.Primary())
	}
	return v.s.db.Collection(name, opts)
}

func (v *view) guard(ctx context.Context) error {
	if v.broken == nil && ctx.Err() != nil {
		v.broken, v.again = deadline(ctx), final
	}
	return v.broken
}

// ended translates an error, which ends the view.
func (v *view) ended(ctx context.Context, err error) error {
	if err != nil && v.broken == nil {
		v.again, v.broken = v.s.translate(ctx, v.term, err)
		if !v.session.TransactionRunning() {
			v.broken = inUse(v.broken, "a collection could not be read because it was in use")
		}
	}
	return v.broken
}

// in returns the context of an operation on the view's session, which is
// cancelled when another primary is elected.
func (v *view) in(ctx context.Context) context.Context {
	return mongo.NewSessionContext(during(ctx, v.term), v.session)
}

// rows runs a find. An error of row is returned unchanged; any other ends the
// view.
func (v *view) rows(ctx context.Context, collection string, filter any, row func(bson.Raw) error, opts *options.FindOptionsBuilder) error {
	if err := v.guard(ctx); err != nil {
		return err
	}
	cursor, err := v.collection(collection).Find(v.in(ctx), filter, opts)
	return v.drain(ctx, collection, cursor, err, row)
}

func (v *view) drain(ctx context.Context, collection string, cursor *mongo.Cursor, err error, row func(bson.Raw) error) error {
	if err != nil {
		if isUnknownHint(err) {
			v.s.forgetIndexes(collection)
		}
		return v.ended(ctx, err)
	}
	defer v.close(ctx, collection, cursor)
	if !v.begun && !v.current() {
		v.broken, v.again = errOutdated, lost
		return v.broken
	}
	v.begun = true
	for in := v.in(ctx); cursor.Next(in); {
		if own := row(cursor.Current); own != nil {
			return own
		}
	}
	return v.ended(ctx, cursor.Err())
}

// current reports whether a snapshot has the commits that clients have seen. It may lack
// some after an election, and on a secondary, which the connection string must ask for.
func (v *view) current() bool {
	if v.session.TransactionRunning() || !v.latest && !v.s.readsPrimary {
		return true
	}
	return v.s.leader.shows(v.session.SnapshotTime(), v.term)
}

// close releases a cursor, even when the client has disconnected. The driver
// would send killCursors with the read concern of a snapshot, which servers
// reject, so it is sent without the session.
func (v *view) close(ctx context.Context, collection string, cursor *mongo.Cursor) {
	patient, cancel := patient(ctx, ending)
	defer cancel()
	if id := cursor.ID(); id != 0 && !v.session.TransactionRunning() {
		kill := bson.D{{Key: "killCursors", Value: collection}, {Key: "cursors", Value: bson.A{id}}}
		_ = v.s.db.RunCommand(patient, kill).Err() // the server times it out otherwise
	}
	_ = cursor.Close(mongo.NewSessionContext(patient, v.session)) // everything needed was read
}

// records yields the records of a find, which are at most n. A record that cannot be
// decoded is an error of the store, and ends the view.
func (v *view) records(ctx context.Context, collection string, filter any, n int, yield func(*store.Record) error, opts *options.FindOptionsBuilder) error {
	var d record.Decoder
	var damaged error
	read, bytes := 0, 0
	defer func() { v.s.answers.learn(collection, read, bytes) }()
	err := v.rows(ctx, collection, filter, func(raw bson.Raw) error {
		read, bytes = read+1, bytes+len(raw)
		record, err := d.Decode(raw)
		if err != nil {
			damaged = d.Damaged(collection, err)
			return damaged
		}
		return yield(record)
	}, opts.SetBatchSize(v.s.answers.batch(collection, n)))
	if damaged != nil {
		v.broken, v.again = damaged, final
	}
	return err
}

// byNetwork groups keys by network. Most calls have one.
func byNetwork(keys []store.Key) map[string]bson.A {
	groups, seen := map[string]bson.A{}, make(map[store.Key]bool, len(keys))
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			groups[key.Network] = append(groups[key.Network], record.ID(key))
		}
	}
	return groups
}

// withIDs is the filter for records of one network by _id.
func withIDs(network string, ids bson.A) bson.D {
	if len(ids) == 1 {
		return bson.D{{Key: record.FieldID, Value: ids[0]}}
	}
	return bson.D{{Key: record.KeyNetwork, Value: network}, {Key: record.FieldID, Value: bson.D{{Key: "$in", Value: ids}}}}
}

// byID returns the options of a find by _id.
func byID(n int) *options.FindOptionsBuilder {
	return options.Find().SetHint(plan.IndexID).SetBatchSize(batchSize(n))
}

// batchSize is the number of documents of an answer: all of them, or as many as
// keep it from being large.
func batchSize(n int) int32 { return int32(min(n+1, mostRecords)) } // #nosec G115 -- mostRecords is the largest

// count counts the records of a filter, up to a limit unless it is 0.
func (v *view) count(ctx context.Context, collection string, filter bson.D, limit int, hint string) (int64, error) {
	return v.sum(ctx, collection, countPipeline(filter, limit), hint)
}

// countPipeline is the pipeline of count.
func countPipeline(filter bson.D, limit int) bson.A {
	pipeline := bson.A{bson.D{{Key: "$match", Value: filter}}}
	if limit > 0 {
		pipeline = append(pipeline, bson.D{{Key: "$limit", Value: limit}})
	}
	return append(pipeline, bson.D{{Key: "$count", Value: "n"}})
}

// sum runs a pipeline whose only document has the result as n.
func (v *view) sum(ctx context.Context, collection string, pipeline bson.A, hint string) (n int64, err error) {
	err = v.aggregate(ctx, collection, pipeline, hint, 1, func(raw bson.Raw) error {
		n, _ = raw.Lookup("n").AsInt64OK()
		return nil
	})
	return n, err
}

// aggregate runs a pipeline with an index, unless that is "", whose result has about n
// documents.
func (v *view) aggregate(ctx context.Context, collection string, pipeline bson.A, hint string, n int, row func(bson.Raw) error) error {
	if err := v.guard(ctx); err != nil {
		return err
	}
	opts := options.Aggregate().SetBatchSize(batchSize(n))
	if hint != "" {
		opts.SetHint(hint)
	}
	cursor, err := v.collection(collection).Aggregate(v.in(ctx), pipeline, opts)
	return v.drain(ctx, collection, cursor, err, row)
}

// behind is the filter for all keys after one, in the order of the shard key.
func behind(after store.Key) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: record.KeyNetwork, Value: after.Network}, {Key: record.KeyID, Value: bson.D{{Key: "$gt", Value: after.ID}}}},
		bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gt", Value: after.Network}}}},
	}}}
}

// forgetIndexes leaves the choice of indexes to MongoDB until EnsureCollections
// is called again. A server with other schemas has dropped one.
func (s *Store) forgetIndexes(collection string) {
	known := maps.Clone(*s.known.Load())
	delete(known, collection)
	s.known.Store(&known)
}

// answerBytes is about how large an answer of MongoDB with records is. The driver
// holds answers whole, and they are up to 16 MiB where nothing limits them.
const answerBytes = 2 << 20

// mostRecords is the number of records in an answer at most.
const mostRecords = 1000

// answers knows how large the records of each collection are.
type answers struct {
	// sizes holds an int by the name of a collection: the mean of the records of
	// recent answers, or more.
	sizes sync.Map
}

// batch returns how many of n records an answer should have: all of them, if that
// does not make it large.
func (a *answers) batch(collection string, n int) int32 {
	most := mostRecords
	if size, known := a.sizes.Load(collection); known {
		most = max(1, min(most, answerBytes/max(1, size.(int))))
	}
	return int32(min(n+1, most)) // #nosec G115 -- most is the largest
}

// size returns how large a record of a collection is, if that is known.
func (a *answers) size(collection string) (bytes int, known bool) {
	size, known := a.sizes.Load(collection)
	if !known {
		return 0, false
	}
	return size.(int), true
}

// learn takes note of the records of answers. Large ones are forgotten slowly.
func (a *answers) learn(collection string, records, bytes int) {
	if records == 0 {
		return
	}
	size := bytes / records
	before, known := a.sizes.Load(collection)
	if known {
		size = max(size, before.(int)*7/8)
	}
	if !known || size != before.(int) {
		a.sizes.Store(collection, size)
	}
}
