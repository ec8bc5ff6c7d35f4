package mongo

import (
	"context"
	"maps"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// commitsKept is how long the marker of a commit is kept, in seconds: far
// longer than anyone asks for its outcome.
const commitsKept = 24 * 60 * 60

// atOnce is the number of collections that are made ready concurrently.
const atOnce = 8

// ensureSystem creates the store's own collections.
func (s *Store) ensureSystem(ctx context.Context) error {
	keys := func(fields ...string) (d bson.D) {
		for _, field := range fields {
			d = append(d, bson.E{Key: field, Value: 1})
		}
		return d
	}
	definition := func(name string, key bson.D, more ...bson.E) bson.D {
		return append(bson.D{{Key: "name", Value: plan.OwnIndex + name}, {Key: "key", Value: key}}, more...)
	}
	base := definition("key", shardKey)
	for _, c := range []struct {
		name    string
		indexes []bson.D
	}{
		{storeCollection, []bson.D{base}},
		{changesCollection, []bson.D{base, definition("object", keys(record.KeyNetwork, "collection", "object", record.KeyID)),
			definition("type", keys(record.KeyNetwork, "collection", record.KeyID)), definition("feed", keys(record.KeyID)),
			definition("owner", keys(record.KeyNetwork, "owner", record.KeyID), bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: "owner", Value: bson.D{{Key: "$exists", Value: true}}}}})}},
		{claimsCollection, nil},
		{commitsCollection, []bson.D{base, definition("collections", keys(record.KeyNetwork, "collections", record.KeyID)), definition("expiry", keys("time"), bson.E{Key: "expireAfterSeconds", Value: commitsKept})}},
		{serversCollection, []bson.D{base, definition("expiry", keys("time"), bson.E{Key: "expireAfterSeconds", Value: commitsKept})}},
		{blobsCollection, []bson.D{base}},
		{piecesCollection, []bson.D{base}},
	} {
		if err := s.ensureIndexes(ctx, c.name, c.indexes); err != nil {
			return err
		}
	}
	return nil
}

// EnsureCollections implements store.Store. Reads and writes continue while
// indexes are built.
func (s *Store) EnsureCollections(ctx context.Context, collections []store.Collection) error {
	s.ensure.Lock()
	defer s.ensure.Unlock()
	store.Step(ctx, "making collections and their indexes ready")
	known := maps.Clone(*s.known.Load())
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, c := range collections {
		wanted := plan.Indexes(c)
		known[c.Name] = wanted
		definitions := make([]bson.D, len(wanted))
		for i, index := range wanted {
			definitions[i] = bson.D{{Key: "name", Value: index.Name}, {Key: "key", Value: index.Keys}}
		}
		group.Go(func() error { return s.ensureIndexes(within, c.Name, definitions) })
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return deadline(ctx)
		}
		return err
	}
	s.known.Store(&known)
	for _, c := range collections {
		if err := s.dropIndexes(ctx, c.Name, known[c.Name]); err != nil {
			return err
		}
	}
	return nil
}

// ensureIndexes creates a collection and its indexes unless they exist. MongoDB would wait for
// all members of a replica set to build them, also for those that are gone.
func (s *Store) ensureIndexes(ctx context.Context, collection string, definitions []bson.D) error {
	return s.patiently(ctx, func() error {
		if len(definitions) == 0 {
			err := s.db.CreateCollection(ctx, collection)
			if err != nil && !hasCode(err, 48) { // NamespaceExists
				return err
			}
		} else {
			err := s.db.RunCommand(ctx, bson.D{{Key: "createIndexes", Value: collection}, {Key: "indexes", Value: definitions}, {Key: "commitQuorum", Value: "majority"},
				{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}}}).Err()
			if err != nil {
				return err
			}
		}
		return s.shard(ctx, collection)
	})
}

// shard shards a collection of a sharded cluster unless it is sharded.
func (s *Store) shard(ctx context.Context, collection string) error {
	if !s.sharded {
		return nil
	}
	key := shardKey
	if collection == claimsCollection {
		key = bson.D{{Key: record.FieldID, Value: 1}}
	}
	admin := s.client.Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "enableSharding", Value: s.db.Name()}}).Err(); err != nil {
		return err
	}
	return admin.RunCommand(ctx, bson.D{{Key: "shardCollection", Value: s.db.Name() + "." + collection}, {Key: "key", Value: key}}).Err()
}

// dropIndexes drops the store's own indexes that are no longer listed.
func (s *Store) dropIndexes(ctx context.Context, collection string, wanted []plan.Index) error {
	keep := map[string]bool{}
	for _, index := range wanted {
		keep[index.Name] = true
	}
	return s.patiently(ctx, func() error {
		specifications, err := s.db.Collection(collection).Indexes().ListSpecifications(ctx)
		if err != nil {
			return err
		}
		for _, index := range specifications {
			if keep[index.Name] || !strings.HasPrefix(index.Name, plan.OwnIndex) {
				continue
			}
			if err := s.db.Collection(collection).Indexes().DropOne(ctx, index.Name); err != nil && !hasCode(err, 27) { // IndexNotFound
				return err
			}
		}
		return nil
	})
}

// patiently runs a change of a collection until it succeeds: it waits for open
// transactions on the collection, and times out now and then.
func (s *Store) patiently(ctx context.Context, change func() error) error {
	var failed time.Time // for the first time without a primary
	for n := 0; ; n++ {
		term, done := s.leader.follow()
		err := change()
		if err == nil {
			done()
			return nil
		}
		again, translated := s.translate(ctx, term, err)
		done()
		if again != lost {
			failed = time.Time{}
		} else if failed.IsZero() {
			failed = time.Now()
		}
		if again == final || again == unexplained && n >= maxUnexplained || again == lost && time.Since(failed) > maxLost || n == maxConflicts || !pause(ctx, n, lost) {
			return inUse(translated, "MongoDB could not change a collection because it was in use")
		}
	}
}

// Forget implements store.Store. MongoDB reads the whole collection, and
// changes each record on its own.
func (s *Store) Forget(ctx context.Context, collection string, termKeys, properties []string) error {
	return s.patiently(ctx, func() error {
		if len(properties) > 0 {
			_, err := s.db.Collection(claimsCollection).DeleteMany(ctx, bson.D{{Key: record.FieldID + ".collection", Value: collection},
				{Key: record.FieldID + ".property", Value: bson.D{{Key: "$in", Value: properties}}}})
			if err != nil {
				return err
			}
		}
		for field, pattern := range record.TermPatterns(termKeys) {
			_, err := s.db.Collection(collection).UpdateMany(ctx,
				bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}, {Key: field, Value: pattern}},
				bson.D{{Key: "$pull", Value: bson.D{{Key: field, Value: pattern}}}})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Wipe implements store.Store. Clients can neither reach nor overwrite what
// MongoDB has replaced.
func (s *Store) Wipe(context.Context) (int64, error) { return 0, nil }
