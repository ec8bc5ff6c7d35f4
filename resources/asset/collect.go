package asset

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"marquee/engine/query"
	"marquee/engine/store"
)

const (
	// collectEvery is how often blobs are collected, and grace how long ago they
	// were put at least: what is being uploaded again and again stays.
	collectEvery = time.Hour
	grace        = time.Hour
	// scanned and dropped are how many blobs are looked at, and dropped, in one
	// go.
	scanned = 500
	dropped = 20
)

// Run collects blobs until the context ends.
func Run(ctx context.Context, s store.Store, log *slog.Logger) {
	ticker := time.NewTicker(collectEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		n, err := Collect(ctx, s, time.Now().Add(-grace))
		if err != nil && ctx.Err() == nil {
			log.Warn("files that no asset has any more could not all be dropped; the next hour tries again", slog.String("cause", err.Error()))
		}
		if n > 0 {
			log.Info("files that no asset had any more were dropped", slog.Int("files", n))
		}
	}
}

// Collect drops the blobs that were put before a time and that no asset is
// delivered from, and tells how many.
func Collect(ctx context.Context, s store.Store, before time.Time) (int, error) {
	total := 0
	for after, more := (store.Key{}), true; more; {
		var last store.Key
		var unused []store.Key
		err := s.Read(ctx, func(snapshot store.Snapshot) (err error) {
			old, n := []store.Key{}, 0
			err = snapshot.Blobs(ctx, after, scanned, func(blob store.Blob) error {
				// What belongs to no network is not of an asset.
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

// withoutDelivery are those of the blobs that nothing is delivered from.
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

// drop drops those of the blobs that nothing is delivered from now. An upload
// that puts one of them at the same time meets this transaction, so that one of
// the two runs again and sees the other.
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
