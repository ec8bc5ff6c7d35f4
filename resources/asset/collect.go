package asset

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
	"marquee/engine/walk"
)

const (
	// collectEvery is the interval between collections, and grace the minimum age of
	// the blobs dropped, which spares files that are uploaded repeatedly.
	collectEvery = time.Hour
	grace        = time.Hour
	// scanned and dropped are the numbers of blobs scanned, and dropped, in one
	// transaction.
	scanned = 500
	dropped = 20
)

// Run collects unused blobs every hour until the context ends.
func Run(ctx context.Context, s store.Store, log *slog.Logger) {
	walk.Every(ctx, collectEvery, func() {
		n, err := Collect(ctx, s, time.Now().Add(-grace))
		if err != nil && ctx.Err() == nil {
			log.Warn("dropping unused files failed; retrying in an hour", slog.String("cause", err.Error()))
		}
		if n > 0 {
			log.Info("dropped unused files", slog.Int("files", n))
		}
	})
}

// Collect drops the blobs put before a time that have no delivery, and returns their
// number.
func Collect(ctx context.Context, s store.Store, before time.Time) (int, error) {
	total := 0
	for after, more := (store.Key{}), true; more; {
		var last store.Key
		var unused []store.Key
		err := s.Read(ctx, func(snapshot store.Snapshot) (err error) {
			old, n := []store.Key{}, 0
			err = snapshot.Blobs(ctx, after, scanned, func(blob store.Blob) error {
				// Blobs of assets belong to a network.
				if n, last = n+1, blob.Key; blob.Network != "" && blob.Time.Before(before) {
					old = append(old, blob.Key)
				}
				return nil
			})
			if err == nil {
				more = n == scanned
				unused, err = withoutDelivery(ctx, snapshot, old)
			}
			return err
		})
		if err != nil {
			return total, err
		}
		for keys := range slices.Chunk(unused, dropped) {
			n, err := drop(ctx, s, keys)
			if total += n; err != nil {
				return total, err
			}
		}
		after = last
	}
	return total, nil
}

// withoutDelivery returns the blobs that have no delivery.
func withoutDelivery(ctx context.Context, s store.Snapshot, keys []store.Key) (unused []store.Key, err error) {
	for _, key := range keys {
		used := false
		term := blobTerm(key)
		err := s.Find(ctx, query.Query{Collection: deliveries, Where: query.Term{Key: term.Key, Value: term.Value}, Limit: 1,
			Order: query.Order{Field: query.Field{System: query.ID, Kind: query.String}}},
			func(*store.Record) error { used = true; return nil })
		if err != nil {
			return nil, err
		}
		if !used {
			unused = append(unused, key)
		}
	}
	return unused, nil
}

// drop drops the blobs that still have no delivery. A concurrent upload that puts one
// of them conflicts with the transaction, and one of the two runs again.
func drop(ctx context.Context, s store.Store, keys []store.Key) (n int, err error) {
	err = s.Write(ctx, func(tx store.Tx) error {
		unused, err := withoutDelivery(ctx, tx, keys)
		if n = len(unused); err != nil || n == 0 {
			return err
		}
		return tx.DropBlobs(ctx, unused)
	})
	if err != nil {
		n = 0
	}
	return n, err
}
