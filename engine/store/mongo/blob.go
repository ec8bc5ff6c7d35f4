package mongo

import (
	"context"
	"fmt"
	"io"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"marquee/engine/store"
	"marquee/engine/store/mongo/plan"
	"marquee/engine/store/mongo/record"
)

// blobPiece is the number of bytes of a blob in one document. Changing it needs
// a migration, because it determines where each piece begins.
const blobPiece = store.PieceSize

// piecesAtOnce is the number of pieces in one command.
const piecesAtOnce = 16

// pieceKey returns the key of a piece of a blob. It begins with the length of
// the id, so that no piece of another blob sorts between two pieces of one.
func pieceKey(key store.Key, n int64) store.Key {
	return store.Key{Network: key.Network, ID: fmt.Sprintf("%d:%s#%08x", len(key.ID), key.ID, n)}
}

// pieces is the filter for a range of the pieces of a blob.
func pieces(key store.Key, first, last int64) bson.D {
	return bson.D{{Key: record.KeyNetwork, Value: key.Network},
		{Key: record.KeyID, Value: bson.D{{Key: "$gte", Value: pieceKey(key, first).ID}, {Key: "$lte", Value: pieceKey(key, last).ID}}}}
}

const lastPiece = 1<<32 - 1

// Blob implements store.Snapshot.
func (v *view) Blob(ctx context.Context, key store.Key, offset, length int64, yield func([]byte) error) (size int64, found bool, err error) {
	err = v.rows(ctx, blobsCollection, bson.D{{Key: record.FieldID, Value: record.ID(key)}}, func(raw bson.Raw) error {
		size, found = raw.Lookup("size").AsInt64OK()
		return nil
	}, byID(1))
	end := offset + min(length, size-offset)
	if err != nil || end <= offset {
		return size, found, err
	}
	at := offset / blobPiece * blobPiece
	err = v.rows(ctx, piecesCollection, pieces(key, offset/blobPiece, (end-1)/blobPiece), func(raw bson.Raw) error {
		_, data, _ := raw.Lookup("data").BinaryOK()
		begin := at
		at += blobPiece
		return yield(data[min(int64(len(data)), max(0, offset-begin)):min(int64(len(data)), end-begin)])
	}, options.Find().SetHint(plan.OwnIndex+"key").SetSort(bson.D{{Key: record.KeyID, Value: 1}}).SetBatchSize(piecesAtOnce))
	return size, found, err
}

// Blobs implements store.Snapshot.
func (v *view) Blobs(ctx context.Context, after store.Key, limit int, yield func(store.Blob) error) error {
	if limit <= 0 {
		return v.guard(ctx)
	}
	return v.rows(ctx, blobsCollection, behind(after), func(raw bson.Raw) error {
		blob, err := decodeBlob(raw)
		if err != nil {
			return err
		}
		return yield(blob)
	}, options.Find().SetSort(shardKey).SetLimit(int64(limit)).SetBatchSize(batchSize(limit)))
}

func decodeBlob(raw bson.Raw) (store.Blob, error) {
	var blob struct {
		ID   struct{ Network, ID string } `bson:"_id"`
		Size int64
		Time bson.DateTime
	}
	err := bson.Unmarshal(raw, &blob)
	return store.Blob{Key: store.Key{Network: blob.ID.Network, ID: blob.ID.ID}, Size: blob.Size, Time: blob.Time.Time().UTC()}, err
}

// PutBlob implements store.Tx.
func (t *transaction) PutBlob(ctx context.Context, key store.Key, size int64, open func() (io.ReadCloser, error)) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	t.touch(key.Network, blobsCollection)
	result, err := t.s.db.Collection(blobsCollection).UpdateOne(t.in(ctx), bson.D{{Key: record.FieldID, Value: record.ID(key)}}, bson.D{
		{Key: "$currentDate", Value: bson.D{{Key: "time", Value: true}}},
		{Key: "$inc", Value: bson.D{{Key: "puts", Value: 1}}}, // a write even within the same millisecond
		{Key: "$setOnInsert", Value: bson.D{{Key: "size", Value: size}}}}, options.UpdateOne().SetUpsert(true))
	if err != nil || result.MatchedCount > 0 {
		return t.ended(ctx, err)
	}
	inserts := t.inserts(piecesCollection)
	// An error of the caller's reader is returned unchanged, but ends the
	// transaction, because some pieces may be stored.
	err = store.Pieces(open, size, blobPiece, func(n int, data []byte) error {
		return inserts.add(ctx, func(dst []byte) ([]byte, error) {
			dst = record.AppendID(dst, pieceKey(key, int64(n)))
			return bsoncore.AppendBinaryElement(dst, "data", bson.TypeBinaryGeneric, data), nil
		})
	})
	if err == nil {
		err = inserts.send(ctx)
	}
	if err != nil && t.broken == nil {
		t.broken, t.again = err, final
	}
	return err
}

// DropBlobs implements store.Tx.
func (t *transaction) DropBlobs(ctx context.Context, keys []store.Key) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	blobs, parts := t.deletes(blobsCollection), t.deletes(piecesCollection)
	for _, key := range keys {
		t.touch(key.Network, blobsCollection)
		if err := blobs.delete(ctx, bson.D{{Key: record.FieldID, Value: record.ID(key)}}, 1); err != nil {
			return err
		}
	}
	if err := blobs.send(ctx); err != nil {
		return err
	}
	for _, key := range keys {
		if err := parts.delete(ctx, pieces(key, 0, lastPiece), 0); err != nil {
			return err
		}
	}
	return parts.send(ctx)
}
