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

var errEnded = &store.Error{Code: store.CodeInternal, Text: "a transaction was used after its function had returned"}

func (v *view) guard(ctx context.Context) error {
	if v.broken == nil && ctx.Err() != nil {
		v.broken, v.again = deadline(ctx), final
	}
	return v.broken
}

func deadline(ctx context.Context) error {
	return &store.Error{Code: store.CodeDeadline, Text: "the deadline of the request has passed, or its client has disconnected", Cause: ctx.Err()}
}

// ended translates an error, which ends the view.
func (v *view) ended(ctx context.Context, err error) error {
	if err != nil && v.broken == nil {
		v.again, v.broken = translate(ctx, err)
		if code, _ := store.CodeOf(v.broken); code == store.CodeConflict && !v.session.TransactionRunning() {
			v.broken = &store.Error{Code: store.CodeUnavailable, Text: "a collection could not be read because it was in use", Cause: scrub(err)}
		}
	}
	return v.broken
}

// in returns the context of an operation on the view's session, which is
// cancelled when another primary is elected.
func (v *view) in(ctx context.Context) context.Context {
	return mongo.NewSessionContext(during(ctx, v.term), v.session)
}

// maxReads is the number of retries of a Read whose snapshot is no longer
// readable.
const maxReads = 10

// Read implements store.Store.
func (s *Store) Read(ctx context.Context, fn func(store.Snapshot) error) (err error) {
	defer func() { err = s.leader.explain(ctx, err) }()
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
	term, done := s.leader.follow()
	defer done()
	v := &view{s: s, session: session, ctx: ctx, term: term, latest: store.EffortOf(ctx).Latest}
	defer func() { v.broken = errEnded }()
	if err = fn(v); v.broken == nil {
		return final, err
	}
	return v.again, err
}

// rows runs a find. An error of row is returned unchanged; any other ends the
// view.
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

var errOutdated = &store.Error{Code: store.CodeUnavailable, Text: "the new primary of MongoDB does not know yet which writes a majority has"}

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

// records yields the records of a find. A record that cannot be decoded is an
// error of the store, and ends the view.
func (v *view) records(ctx context.Context, collection string, filter any, yield func(*store.Record) error, opts ...options.Lister[options.FindOptions]) error {
	d := record.Decoder{Collection: collection}
	var damaged error
	read, bytes := 0, 0
	defer func() { v.s.answers.learn(collection, read, bytes) }()
	err := v.rows(ctx, collection, filter, func(raw bson.Raw) error {
		read, bytes = read+1, bytes+len(raw)
		record, err := d.Decode(raw)
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

// Get implements store.Snapshot.
func (v *view) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	for network, ids := range byNetwork(keys) {
		if err := v.records(ctx, collection, withIDs(network, ids), yield, byID(len(ids)).SetBatchSize(v.s.answers.batch(collection, len(ids))).SetProjection(record.Fields)); err != nil {
			return err
		}
	}
	return v.guard(ctx)
}

// Versions implements store.Snapshot.
func (v *view) Versions(ctx context.Context, collection string, keys []store.Key) (map[store.Key]int64, error) {
	versions := make(map[store.Key]int64, len(keys))
	for network, ids := range byNetwork(keys) {
		err := v.rows(ctx, collection, withIDs(network, ids), func(raw bson.Raw) error {
			versions[record.Key(raw)], _ = raw.Lookup(record.FieldVersion).AsInt64OK()
			return nil
		}, byID(len(ids)).SetProjection(bson.D{{Key: record.FieldVersion, Value: 1}}))
		if err != nil {
			return nil, err
		}
	}
	return versions, v.guard(ctx)
}

// Find implements store.Snapshot.
func (v *view) Find(ctx context.Context, q query.Query, yield func(*store.Record) error) error {
	c := plan.Compile(q)
	hint, err := v.chooseIndex(ctx, c, false)
	if err != nil {
		return err
	}
	remaining := q.Limit
	for _, segment := range c.Segments() {
		if remaining <= 0 {
			break
		}
		find := c.Find(segment, remaining, hint)
		err := v.records(ctx, q.Collection, find.Filter, func(record *store.Record) error {
			remaining--
			return yield(record)
		}, find.Options().SetBatchSize(v.s.answers.batch(q.Collection, int(find.Limit))))
		if err != nil {
			return err
		}
	}
	return v.guard(ctx)
}

// chooseIndex names the index for a query; see plan.Compiled.
func (v *view) chooseIndex(ctx context.Context, c plan.Compiled, count bool) (string, error) {
	return c.ChooseIndex((*v.s.known.Load())[c.Collection], count, func(filter bson.D, limit int, index string) (int64, error) {
		return v.count(ctx, c.Collection, filter, limit, index)
	})
}

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
	err = v.aggregate(ctx, collection, pipeline, hint, func(raw bson.Raw) error {
		n, _ = raw.Lookup("n").AsInt64OK()
		return nil
	})
	return n, err
}

// aggregate runs a pipeline.
func (v *view) aggregate(ctx context.Context, collection string, pipeline bson.A, hint string, row func(bson.Raw) error) error {
	if err := v.guard(ctx); err != nil {
		return err
	}
	opts := options.Aggregate()
	if hint != "" {
		opts.SetHint(hint)
	}
	cursor, err := v.collection(collection).Aggregate(v.in(ctx), pipeline, opts)
	return v.drain(ctx, collection, cursor, err, row)
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
	err := v.rows(ctx, claimsCollection, bson.D{{Key: record.FieldID, Value: bson.D{{Key: "$in", Value: ids}}}}, claimed(func(claim store.Claim, owner string) error {
		owners[claim] = owner
		return nil
	}), byID(len(ids)))
	return owners, err
}

// claimed returns a function that decodes claims.
func claimed(yield func(claim store.Claim, owner string) error) func(bson.Raw) error {
	return func(raw bson.Raw) error {
		var claim struct {
			ID    claimKey `bson:"_id"`
			Owner string
		}
		if err := bson.Unmarshal(raw, &claim); err != nil {
			return err
		}
		return yield(store.Claim(claim.ID), claim.Owner)
	}
}

// ClaimsAfter implements store.Snapshot.
func (v *view) ClaimsAfter(ctx context.Context, r store.ClaimRange, yield func(store.Claim, string) error) error {
	if r.Limit <= 0 {
		return v.guard(ctx)
	}
	first, end := r.After, r.After
	first.Value, end.Value = max(r.After.Value, r.Prefix), store.Beyond(r.Prefix)
	from := "$gt"
	if first.Value != r.After.Value {
		from = "$gte"
	}
	return v.rows(ctx, claimsCollection, bson.D{{Key: record.FieldID, Value: bson.D{{Key: from, Value: claimID(first)}, {Key: "$lt", Value: claimID(end)}}}}, claimed(yield),
		options.Find().SetSort(bson.D{{Key: record.FieldID, Value: 1}}).SetLimit(int64(r.Limit)))
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
	v.latest = true // a scan must not miss a record
	return v.records(ctx, collection, behind(after), yield, options.Find().SetLimit(int64(limit)).SetBatchSize(v.s.answers.batch(collection, limit)).
		SetSort(shardKey).SetProjection(record.Fields))
}

// behind is the filter for all keys after one, in the order of the shard key.
func behind(after store.Key) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: record.KeyNetwork, Value: after.Network}, {Key: record.KeyID, Value: bson.D{{Key: "$gt", Value: after.ID}}}},
		bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gt", Value: after.Network}}}},
	}}}
}
