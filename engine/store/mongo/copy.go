package mongo

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

const loadingVersion = store.LoadingVersion + storeVersion

// Dump implements store.Portable. It reads without a snapshot, which would last too short.
func (s *Store) Dump(ctx context.Context, after string, yield func(*store.Portion) error) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	names, err := s.db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		_, err = translate(ctx, err)
		return err
	}
	portions := &store.Portions{Yield: yield, Collections: slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ".") })}
	return portions.Each(after, func(part string, after []string) error {
		switch part {
		case store.BlobsPart:
			return s.dumpBlobs(ctx, portions, after)
		case store.ChangesPart:
			return s.dumpChanges(ctx, portions, after)
		case store.ClaimsPart:
			return s.dumpClaims(ctx, portions, after)
		}
		return s.dumpRecords(ctx, portions, part, after)
	})
}

// each calls row with the documents of a find. An error of row is returned unchanged.
func (s *Store) each(ctx context.Context, collection string, filter any, opts *options.FindOptionsBuilder, row func(bson.Raw) error) error {
	cursor, err := s.db.Collection(collection).Find(ctx, filter, opts)
	if err == nil {
		defer cursor.Close(context.WithoutCancel(ctx))
		for cursor.Next(ctx) {
			if err := row(cursor.Current); err != nil {
				return err
			}
		}
		err = cursor.Err()
	}
	if err != nil {
		_, err = translate(ctx, err)
	}
	return err
}

// beyond is the filter for the keys after a position, nil for all, in the order of shardKey.
func beyond(after []string) bson.D {
	if len(after) < 2 {
		return bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}}
	}
	return behind(store.Key{Network: after[0], ID: after[1]})
}

func (s *Store) dumpRecords(ctx context.Context, p *store.Portions, collection string, after []string) error {
	var d record.Decoder
	return s.each(ctx, collection, beyond(after), options.Find().SetSort(shardKey), func(raw bson.Raw) error {
		r, err := d.Decode(raw)
		if err != nil {
			return d.Damaged(collection, err)
		}
		var terms []store.Term
		for _, field := range []string{record.FieldTerms, record.FieldOrdered} {
			if err := record.EachTerm(raw, field, func(term store.Term) { terms = append(terms, term) }); err != nil {
				return d.Damaged(collection, err)
			}
		}
		return p.Record(r, terms, r.Network, r.ID)
	})
}

func (s *Store) dumpClaims(ctx context.Context, p *store.Portions, after []string) error {
	last := bson.D{}
	if len(after) == 4 {
		last = claimID(store.Claim{Collection: after[0], Network: after[1], Property: after[2], Value: after[3]})
	}
	filter := bson.D{{Key: record.FieldID, Value: bson.D{{Key: "$gt", Value: last}}}}
	return s.each(ctx, claimsCollection, filter, options.Find().SetSort(bson.D{{Key: record.FieldID, Value: 1}}), claimed(func(c store.Claim, owner string) error {
		return p.Claim(store.OwnedClaim{Claim: c, Owner: owner}, c.Collection, c.Network, c.Property, c.Value)
	}))
}

func (s *Store) dumpChanges(ctx context.Context, p *store.Portions, after []string) error {
	filter := bson.D{{Key: record.KeyNetwork, Value: bson.D{{Key: "$gte", Value: ""}}}}
	if len(after) == 1 {
		filter = append(filter, bson.E{Key: record.KeyID, Value: bson.D{{Key: "$gt", Value: after[0]}}})
	}
	return s.each(ctx, changesCollection, filter, options.Find().SetHint(plan.OwnIndex+"feed").SetSort(bson.D{{Key: record.KeyID, Value: 1}}), func(raw bson.Raw) error {
		c, err := record.Change(raw)
		if err != nil {
			return &store.Error{Code: store.CodeDamaged, Text: "a change in the history cannot be read", Cause: err}
		}
		return p.Change(c, c.Position)
	})
}

func (s *Store) dumpBlobs(ctx context.Context, p *store.Portions, after []string) error {
	var last store.Key // of which the pieces before next were dumped
	var next int64
	filter := beyond(after)
	if len(after) == 3 {
		n, err := strconv.ParseInt(after[2], 10, 64)
		if err != nil {
			return badPosition(err)
		}
		last, next = store.Key{Network: after[0], ID: after[1]}, n+1
		filter = bson.D{{Key: "$or", Value: bson.A{bson.D{{Key: record.FieldID, Value: record.ID(last)}}, filter}}}
	}
	return s.each(ctx, blobsCollection, filter, options.Find().SetSort(shardKey), func(raw bson.Raw) error {
		blob, err := decodeBlob(raw)
		if err != nil {
			return &store.Error{Code: store.CodeDamaged, Text: "a file cannot be read", Cause: err}
		}
		n := int64(0)
		if next > 0 && blob.Key == last {
			n = next
		}
		put := func(data []byte) error {
			n++
			return p.Piece(store.Piece{Blob: blob, N: n - 1, Data: data}, blob.Network, blob.ID, strconv.FormatInt(n-1, 10))
		}
		if blob.Size == 0 && n == 0 {
			return put(nil)
		}
		opts := options.Find().SetHint(plan.OwnIndex + "key").SetSort(bson.D{{Key: record.KeyID, Value: 1}}).SetBatchSize(piecesAtOnce)
		return s.each(ctx, piecesCollection, pieces(blob.Key, n, lastPiece), opts, func(raw bson.Raw) error {
			_, data, _ := raw.Lookup("data").BinaryOK()
			return put(data)
		})
	})
}

// Load implements store.Portable.
func (s *Store) Load(ctx context.Context, p *store.Portion, l store.Loading) error {
	return s.Write(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		if err := t.guard(ctx); err != nil {
			return err
		}
		if !s.loading {
			return t.refuse(&store.Error{Code: store.CodeInternal, Text: "the store was not opened for loading"})
		}
		version := int64(loadingVersion)
		if l.Last {
			version = storeVersion
		}
		// The first one, because it conflicts with a copy that runs as well.
		if err := t.Put(ctx, store.LoadingCollection, []store.Write{l.Progress}); err != nil {
			return err
		}
		// Another copy may have completed the store, which may be served since.
		mark := t.updates(storeCollection)
		err := mark.update(ctx, bson.D{{Key: record.FieldID, Value: metaID}, {Key: record.FieldVersion, Value: int64(loadingVersion)}}, bson.D{{Key: "$set", Value: bson.D{{Key: record.FieldVersion, Value: version}}}})
		if err == nil {
			err = mark.all(ctx)
		}
		if err == nil {
			err = t.load(ctx, p)
		}
		if err != nil || !l.Last {
			return err
		}
		return store.Drop(ctx, t, store.LoadingCollection, []store.Key{l.Progress.Key})
	})
}

func (t *transaction) load(ctx context.Context, p *store.Portion) error {
	if len(p.Records) > 0 {
		if err := t.Put(ctx, p.Part, p.Records); err != nil {
			return err
		}
	}
	claims := t.updates(claimsCollection)
	for _, c := range p.Claims {
		if err := addClaims(ctx, claims, []store.Claim{c.Claim}, c.Owner); err != nil {
			return err
		}
	}
	if err := claims.send(ctx); err != nil {
		return err
	}
	blobs, data := t.inserts(blobsCollection), t.inserts(piecesCollection)
	for i := range p.Pieces {
		piece := &p.Pieces[i]
		t.touch(piece.Network, blobsCollection)
		if piece.N == 0 {
			err := blobs.addD(ctx, bson.D{{Key: record.FieldID, Value: record.ID(piece.Key)}, {Key: "time", Value: bson.NewDateTimeFromTime(piece.Time)},
				{Key: "puts", Value: 1}, {Key: "size", Value: piece.Size}})
			if err != nil {
				return err
			}
		}
	}
	if err := blobs.send(ctx); err != nil {
		return err
	}
	for i := range p.Pieces {
		piece := &p.Pieces[i]
		if len(piece.Data) == 0 {
			continue
		}
		err := data.add(ctx, func(dst []byte) ([]byte, error) {
			return bsoncore.AppendBinaryElement(record.AppendID(dst, pieceKey(piece.Key, piece.N)), "data", bson.TypeBinaryGeneric, piece.Data), nil
		})
		if err != nil {
			return err
		}
	}
	if err := data.send(ctx); err != nil {
		return err
	}
	return t.Append(ctx, p.Changes)
}
