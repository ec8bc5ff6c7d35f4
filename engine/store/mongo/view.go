package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"marquee/engine/query"
	"marquee/engine/store"
)

// view is a store.Snapshot on a session.
type view struct {
	s       *Store
	session *mongo.Session
	ctx     context.Context
	// broken is the error that ended the view, again whether what it was part
	// of may run again.
	broken error
	again  retry
	// latest says that reads go to the primary, wherever others go: what comes
	// of them must have seen all that was committed.
	latest bool
}

// collection is where the view reads.
func (v *view) collection(name string) *mongo.Collection {
	opts := options.Collection()
	if v.latest {
		opts.SetReadPreference(readpref.Primary())
	}
	return v.s.db.Collection(name, opts)
}

var errEnded = &store.Error{Code: store.CodeInternal, Text: "a transaction was used after its function had returned"}

func (v *view) guard(ctx context.Context) error {
	if v.broken == nil && ctx.Err() != nil {
		v.broken, v.again = deadline(ctx), final
	}
	return v.broken
}

func deadline(ctx context.Context) error {
	return &store.Error{Code: store.CodeDeadline, Text: "the deadline of the request has passed, or its client has gone", Cause: ctx.Err()}
}

// ended translates an error, which ends the view.
func (v *view) ended(ctx context.Context, err error) error {
	if err != nil && v.broken == nil {
		v.again, v.broken = translate(ctx, err)
		if code, _ := store.CodeOf(v.broken); code == store.CodeConflict && !v.session.TransactionRunning() {
			v.broken = &store.Error{Code: store.CodeUnavailable, Text: "other work on a collection was in the way of a read", Cause: scrub(err)}
		}
	}
	return v.broken
}

// in is the context of an operation on the view's session.
func (v *view) in(ctx context.Context) context.Context {
	return mongo.NewSessionContext(ctx, v.session)
}

// maxReads is how often a Read runs again whose snapshot can be read no longer.
const maxReads = 10

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, fn func(store.Snapshot) error) error {
	begun, conflicts := time.Now(), 0
	for n := 0; ; n++ {
		again, err := s.read(ctx, fn)
		if again != lost {
			conflicts++
		}
		if again == final || conflicts > maxReads || time.Since(begun) > maxLost || !pause(ctx, n, again) {
			return err
		}
	}
}

func (s *Store) read(ctx context.Context, fn func(store.Snapshot) error) (again retry, err error) {
	if err := s.open(ctx); err != nil {
		return final, err
	}
	session, err := s.client.StartSession(options.Session().SetSnapshot(true))
	if err != nil {
		return translate(ctx, err)
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	v := &view{s: s, session: session, ctx: ctx}
	defer func() { v.broken = errEnded }()
	if err = fn(v); v.broken == nil {
		return final, err
	}
	return v.again, err
}

// rows runs a find and yields what it finds. An error of row is not the
// store's, and comes back as it is; any other ends the view.
func (v *view) rows(ctx context.Context, collection string, filter any, row func(bson.Raw) error, opts ...options.Lister[options.FindOptions]) error {
	if err := v.guard(ctx); err != nil {
		return err
	}
	cursor, err := v.collection(collection).Find(v.in(ctx), filter, opts...)
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
	for cursor.Next(v.in(ctx)) {
		if own := row(cursor.Current); own != nil {
			return own
		}
	}
	return v.ended(ctx, cursor.Err())
}

// close gives back what is left of a cursor, also of a client that has gone. The
// driver sends the read concern of a snapshot with killCursors, too, which no
// server takes, so that it is sent without the session.
func (v *view) close(ctx context.Context, collection string, cursor *mongo.Cursor) {
	patient, cancel := patient(ctx, ending)
	defer cancel()
	if id := cursor.ID(); id != 0 && !v.session.TransactionRunning() {
		kill := bson.D{{Key: "killCursors", Value: collection}, {Key: "cursors", Value: bson.A{id}}}
		_ = v.s.db.RunCommand(patient, kill).Err() // the server forgets it after a while
	}
	_ = cursor.Close(v.in(patient)) // what was read is all that is wanted
}

// records yields records of a find. A record that cannot be read is a fault of
// the store, and ends the view.
func (v *view) records(ctx context.Context, collection string, filter any, yield func(*store.Record) error, opts ...options.Lister[options.FindOptions]) error {
	d := decoder{collection: collection}
	var damaged error
	err := v.rows(ctx, collection, filter, func(raw bson.Raw) error {
		record, err := d.decode(raw)
		if err != nil {
			damaged = err
			return err
		}
		return yield(record)
	}, opts...)
	if damaged != nil {
		v.broken, v.again = damaged, final
	}
	return err
}

// byNetwork groups keys; most calls have one network.
func byNetwork(keys []store.Key) map[string]bson.A {
	groups, seen := map[string]bson.A{}, make(map[store.Key]bool, len(keys))
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			groups[key.Network] = append(groups[key.Network], idOf(key))
		}
	}
	return groups
}

// withIDs is the filter for records of one network by their _id.
func withIDs(network string, ids bson.A) bson.D {
	if len(ids) == 1 {
		return bson.D{{Key: fieldID, Value: ids[0]}}
	}
	return bson.D{{Key: keyNetwork, Value: network}, {Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}
}

// indexID is the name of the index that every collection has.
const indexID = "_id_"

// byID are the options of a find by _id, of so many at once that they come in
// one answer.
func byID(n int) *options.FindOptionsBuilder {
	return options.Find().SetHint(indexID).SetBatchSize(batchSize(n))
}

// batchSize is how many documents an answer holds: all, or as many as keep it
// from being large.
func batchSize(n int) int32 { return int32(min(n+1, 1000)) }

// Get implements store.Snapshot.
func (v *view) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	for network, ids := range byNetwork(keys) {
		if err := v.records(ctx, collection, withIDs(network, ids), yield, byID(len(ids)).SetProjection(recordFields)); err != nil {
			return err
		}
	}
	return v.guard(ctx)
}

// recordFields leaves out what no reader needs.
var recordFields = bson.D{{Key: fieldTerms, Value: 0}}

// Labels implements store.Snapshot.
func (v *view) Labels(ctx context.Context, collection, property string, keys []store.Key) (map[store.Key]string, error) {
	labels := make(map[store.Key]string, len(keys))
	name := escapeName(property)
	for network, ids := range byNetwork(keys) {
		err := v.rows(ctx, collection, withIDs(network, ids), func(raw bson.Raw) error {
			id, _ := raw.Lookup(fieldID, "id").StringValueOK()
			label, _ := raw.Lookup(fieldDocument, name).StringValueOK()
			labels[store.Key{Network: network, ID: id}] = label
			return nil
		}, byID(len(ids)).SetProjection(bson.D{{Key: fieldDocument + "." + name, Value: 1}}))
		if err != nil {
			return nil, err
		}
	}
	return labels, v.guard(ctx)
}

// Find implements store.Snapshot.
func (v *view) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	hint, err := v.hint(ctx, q, false)
	if err != nil {
		return err
	}
	remaining := q.Limit
	for _, segment := range segments(q) {
		if remaining <= 0 {
			break
		}
		find := findingOf(q, segment, remaining, hint)
		err := v.records(ctx, q.Collection, find.filter, func(record *store.Record) error {
			remaining--
			return yield(record)
		}, find.options())
		if err != nil {
			return err
		}
	}
	return v.guard(ctx)
}

// Count implements store.Snapshot.
func (v *view) Count(ctx context.Context, q query.Query) (int64, error) {
	hint, err := v.hint(ctx, q, true)
	if err != nil {
		return 0, err
	}
	opts := options.Aggregate()
	if hint != "" {
		opts.SetHint(hint)
	}
	count := func() (int64, error) { return v.aggregate(ctx, q.Collection, countPipeline(q), opts) }
	if v.session.TransactionRunning() || asked(q).ids {
		return count()
	}
	return v.keptCount(ctx, q, count)
}

// aggregate runs a pipeline that ends in a count.
func (v *view) aggregate(ctx context.Context, collection string, pipeline bson.A, opts ...options.Lister[options.AggregateOptions]) (n int64, err error) {
	if err := v.guard(ctx); err != nil {
		return 0, err
	}
	cursor, err := v.collection(collection).Aggregate(v.in(ctx), pipeline, opts...)
	err = v.drain(ctx, collection, cursor, err, func(raw bson.Raw) error {
		n, _ = raw.Lookup("n").AsInt64OK()
		return nil
	})
	return n, err
}

func countPipeline(q query.Query) bson.A {
	return bson.A{bson.D{{Key: "$match", Value: filter(q)}}, bson.D{{Key: "$count", Value: "n"}}}
}

// Claims implements store.Snapshot.
func (v *view) Claims(ctx context.Context, claims []store.Claim) (map[store.Claim]string, error) {
	owners := map[store.Claim]string{}
	if len(claims) == 0 {
		return owners, v.guard(ctx)
	}
	ids := make(bson.A, len(claims))
	for i, claim := range claims {
		ids[i] = claimID(claim)
	}
	err := v.rows(ctx, claimsCollection, bson.D{{Key: fieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, func(raw bson.Raw) error {
		var claim struct {
			ID    claimKey `bson:"_id"`
			Owner string
		}
		if err := bson.Unmarshal(raw, &claim); err != nil {
			return err
		}
		owners[store.Claim(claim.ID)] = claim.Owner
		return nil
	}, byID(len(ids)))
	return owners, err
}

// claimKey is the _id of a claim, in the order of the shard key.
type claimKey struct{ Collection, Network, Property, Value string }

func claimID(claim store.Claim) bson.D {
	return bson.D{{Key: "network", Value: claim.Network}, {Key: "collection", Value: claim.Collection},
		{Key: "property", Value: claim.Property}, {Key: "value", Value: claim.Value}}
}

// Scan implements store.Snapshot.
func (v *view) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) error {
	if limit <= 0 {
		return v.guard(ctx)
	}
	v.latest = true // who scans misses nothing
	return v.records(ctx, collection, behind(after), yield, options.Find().SetLimit(int64(limit)).SetBatchSize(batchSize(limit)).
		SetSort(shardKey).SetProjection(recordFields))
}

// behind is the filter for all keys behind one, in the order of the shard key.
func behind(after store.Key) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: keyNetwork, Value: after.Network}, {Key: keyID, Value: bson.D{{Key: "$gt", Value: after.ID}}}},
		bson.D{{Key: keyNetwork, Value: bson.D{{Key: "$gt", Value: after.Network}}}},
	}}}
}
