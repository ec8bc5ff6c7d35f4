package mongo

import (
	"context"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"marquee/engine/store"
	"marquee/engine/store/mongo/record"
)

// A transaction that says in advance which records it will read (store.Effort.Reads)
// reads them with its first command: a round trip takes longer than finding a few
// records. MongoDB refuses $unionWith in transactions, so the command looks them up
// beside a document that always exists.

const (
	// aheadBytes is about how large the answer may be, which is one document of at
	// most 16 MiB.
	aheadBytes = 1 << 20
	// aheadUnknown is the number of records of a collection that are read ahead
	// while it is not known how large they are.
	aheadUnknown = 64
)

// codesLookup are the errors for a result that does not fit into one document.
var codesLookup = []int{4568, 10334}

// ahead holds records that were read before they were asked for.
type ahead struct {
	// announced are those that will probably be read, wanted the same until they are.
	announced, wanted []store.Lookup
	// records holds the stored records by their collection, nil for those that do not
	// exist.
	records map[string]map[store.Key]bson.Raw
}

// add notes that keys of a collection are read; those that are not found do not
// exist.
func (a *ahead) add(collection string, keys []store.Key) map[store.Key]bson.Raw {
	if a.records == nil {
		a.records = map[string]map[store.Key]bson.Raw{}
	}
	records := a.records[collection]
	if records == nil {
		records = make(map[store.Key]bson.Raw, len(keys))
		a.records[collection] = records
	}
	for _, key := range keys {
		records[key] = nil
	}
	return records
}

// get yields those of the keys that were read ahead and exist, and returns the others.
// Damaged reports whether the error is that of a record that cannot be decoded.
func (a *ahead) get(collection string, keys []store.Key, yield func(*store.Record) error) (others []store.Key, damaged bool, err error) {
	records := a.records[collection]
	if len(records) == 0 {
		return keys, false, nil
	}
	var d record.Decoder
	for _, key := range keys {
		raw, read := records[key]
		if !read {
			others = append(others, key)
			continue
		}
		if raw == nil {
			continue
		}
		record, err := d.Decode(raw)
		if err != nil {
			return nil, true, d.Damaged(collection, err)
		}
		if err := yield(record); err != nil {
			return nil, false, err
		}
	}
	return others, false, nil
}

// each yields the records that were read ahead of some collections.
func (a *ahead) each(lookups []store.Lookup, yield func(string, *store.Record) error) error {
	for _, l := range lookups {
		_, damaged, err := a.get(l.Collection, l.Keys, func(r *store.Record) error { return yield(l.Collection, r) })
		if err != nil && !damaged { // a damaged record fails the call that asks for it
			return err
		}
	}
	return nil
}

// ReadAhead implements store.Ahead.
func (t *transaction) ReadAhead(yield func(collection string, r *store.Record) error) error {
	return t.ahead.each(t.ahead.announced, yield)
}

// Get implements store.Snapshot.
func (t *transaction) Get(ctx context.Context, collection string, keys []store.Key, yield func(*store.Record) error) error {
	if err := t.readAhead(ctx); err != nil {
		return err
	}
	others, damaged, err := t.ahead.get(collection, keys, yield)
	if damaged {
		t.broken, t.again = err, final
	}
	if err != nil || len(others) == 0 {
		return err
	}
	return t.view.Get(ctx, collection, others, yield)
}

// lookedUp are keys of one network that are read ahead.
type lookedUp struct {
	collection string
	keys       []store.Key
	ids        bson.A
}

// parts returns what is read ahead: as much as is not too large together.
func (t *transaction) parts() (parts []lookedUp) {
	left := aheadBytes
	for _, l := range t.ahead.wanted {
		size, known := t.s.answers.size(l.Collection)
		if !known && len(l.Keys) > aheadUnknown || len(l.Keys)*size > left {
			continue
		}
		left -= len(l.Keys) * size
		byNetwork := map[string]int{}
		for _, key := range l.Keys {
			at, there := byNetwork[key.Network]
			if !there {
				at = len(parts)
				byNetwork[key.Network] = at
				parts = append(parts, lookedUp{collection: l.Collection})
			}
			parts[at].keys, parts[at].ids = append(parts[at].keys, key), append(parts[at].ids, record.ID(key))
		}
	}
	return parts
}

// readAhead reads the records that were announced, once.
func (t *transaction) readAhead(ctx context.Context) error {
	if err := t.guard(ctx); err != nil || len(t.ahead.wanted) == 0 {
		return err
	}
	parts := t.parts()
	t.ahead.wanted = nil
	if len(parts) < 2 {
		return nil
	}
	pipeline := bson.A{bson.D{{Key: "$match", Value: bson.D{{Key: record.FieldID, Value: metaID}}}}, bson.D{{Key: "$project", Value: bson.D{{Key: record.FieldID, Value: 1}}}}}
	for i, part := range parts {
		pipeline = append(pipeline, bson.D{{Key: "$lookup", Value: bson.D{{Key: "from", Value: part.collection}, {Key: "as", Value: "of" + strconv.Itoa(i)},
			{Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: part.filter()}}, bson.D{{Key: "$project", Value: record.Fields}}}}}}})
	}
	cursor, err := t.collection(storeCollection).Aggregate(t.in(ctx), pipeline)
	if hasCode(err, codesLookup...) {
		t.place.apart = true
		t.broken, t.again = &store.Error{Code: store.CodeUnavailable, Text: "the records of a transaction are too large to be read together", Cause: scrub(err)}, conflict
		return t.broken
	}
	return t.drain(ctx, storeCollection, cursor, err, func(raw bson.Raw) error {
		for i, part := range parts {
			if err := t.keepAhead(part, raw.Lookup("of"+strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return nil
	})
}

// filter selects the records by their _id alone: a part of it would let the server
// consider other indexes.
func (p *lookedUp) filter() bson.D {
	if len(p.ids) == 1 {
		return bson.D{{Key: record.FieldID, Value: p.ids[0]}}
	}
	return bson.D{{Key: record.FieldID, Value: bson.D{{Key: "$in", Value: p.ids}}}}
}

// keepAhead keeps the records of a part.
func (t *transaction) keepAhead(part lookedUp, found bson.RawValue) error {
	list, ok := found.ArrayOK()
	if !ok {
		return nil // they are read when they are asked for
	}
	values, err := list.Values()
	if err != nil {
		return err
	}
	records := t.ahead.add(part.collection, part.keys)
	bytes := 0
	for _, value := range values {
		raw, _ := value.DocumentOK()
		records[record.Key(raw)] = append(bson.Raw(nil), raw...)
		bytes += len(raw)
	}
	t.s.answers.learn(part.collection, len(values), bytes)
	return nil
}
