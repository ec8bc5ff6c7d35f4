package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

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
		if again == final || again == unexplained && conflicts > maxUnexplained || conflicts > maxReads || time.Since(begun) > maxLost || !pause(ctx, n, again) {
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
		err := v.records(ctx, q.Collection, find.Filter, remaining, func(record *store.Record) error {
			remaining--
			return yield(record)
		}, find.Options())
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

// Get implements store.Snapshot.
func (v *view) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	for network, ids := range byNetwork(keys) {
		if err := v.records(ctx, collection, withIDs(network, ids), len(ids), yield, byID(len(ids)).SetProjection(record.Fields)); err != nil {
			return err
		}
	}
	return v.guard(ctx)
}

// Scan implements store.Snapshot.
func (v *view) Scan(ctx context.Context, collection string, after store.Key, limit int, yield func(*store.Record) error) error {
	if limit <= 0 {
		return v.guard(ctx)
	}
	v.latest = true // a scan must not miss a record
	return v.records(ctx, collection, behind(after), limit, yield, options.Find().SetLimit(int64(limit)).SetSort(shardKey).SetProjection(record.Fields))
}

// fields reads some fields of the records of keys.
func (v *view) fields(ctx context.Context, collection string, keys []store.Key, row func(bson.Raw) error, names ...string) error {
	projection := make(bson.D, len(names))
	for i, name := range names {
		projection[i] = bson.E{Key: name, Value: 1}
	}
	for network, ids := range byNetwork(keys) {
		if err := v.rows(ctx, collection, withIDs(network, ids), row, byID(len(ids)).SetProjection(projection)); err != nil {
			return err
		}
	}
	return v.guard(ctx)
}

// Lacking implements store.Snapshot.
func (v *view) Lacking(ctx context.Context, collection string, entries []store.Entry) (lacking []store.Entry, err error) {
	keys := make([]store.Key, len(entries))
	for i, entry := range entries {
		keys[i] = entry.Key
	}
	held := make(map[store.Key]map[store.Term]bool, len(entries))
	err = v.fields(ctx, collection, keys, func(raw bson.Raw) error {
		terms := map[store.Term]bool{}
		held[record.Key(raw)] = terms
		add := func(term store.Term) { terms[term] = true }
		return errors.Join(record.EachTerm(raw, record.FieldTerms, add), record.EachTerm(raw, record.FieldOrdered, add))
	}, record.FieldTerms, record.FieldOrdered)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		terms, there := held[entry.Key]
		missing := store.Entry{Key: entry.Key}
		for _, term := range entry.Terms {
			if there && !terms[term] {
				missing.Terms = append(missing.Terms, term)
			}
		}
		if len(missing.Terms) > 0 {
			lacking = append(lacking, missing)
		}
	}
	return lacking, nil
}

// OrderedTerms implements store.Snapshot.
func (v *view) OrderedTerms(ctx context.Context, collection string, keys []store.Key) (map[store.Key][]store.Term, error) {
	found := map[store.Key][]store.Term{}
	err := v.fields(ctx, collection, keys, func(raw bson.Raw) error {
		key := record.Key(raw)
		return record.EachTerm(raw, record.FieldOrdered, func(term store.Term) { found[key] = append(found[key], term) })
	}, record.FieldOrdered)
	return found, err
}
