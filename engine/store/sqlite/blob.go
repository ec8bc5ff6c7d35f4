package sqlite

import (
	"context"
	"errors"
	"io"
	"time"

	"marquee/engine/store"
)

// blobPiece is the number of bytes of a blob in one row. Changing it needs a
// migration, because it determines where each piece begins. The table has row
// ids: without them its inner nodes would hold rows, too, and be slow for large
// ones (sqlite.org/withoutrowid.html).
const blobPiece = store.PieceSize

const (
	blobsSQL  = "SELECT network,id,size,time FROM blobs WHERE (network,id)>(?,?) ORDER BY network,id LIMIT ?"
	piecesSQL = "SELECT n,data FROM blob_pieces WHERE network=? AND id=? AND n BETWEEN ? AND ? ORDER BY n"
)

func (v *view) Blob(ctx context.Context, key store.Key, offset, length int64, yield func([]byte) error) (size int64, found bool, err error) {
	err = v.query(ctx, "SELECT size FROM blobs WHERE network=? AND id=?", []any{key.Network, key.ID}, func(s *stmt) error {
		size, found = s.ColumnInt64(0), true
		return nil
	})
	end := offset + min(length, size-offset)
	if err != nil || end <= offset {
		return size, found, err
	}
	pieces := []any{key.Network, key.ID, offset / blobPiece, (end - 1) / blobPiece}
	err = v.query(ctx, piecesSQL, pieces, func(s *stmt) error {
		begin, data := s.ColumnInt64(0)*blobPiece, s.ColumnRawBlob(1)
		return yield(data[max(0, offset-begin):min(int64(len(data)), end-begin)])
	})
	return size, found, err
}

func (v *view) Blobs(ctx context.Context, after store.Key, limit int, yield func(store.Blob) error) error {
	return v.query(ctx, blobsSQL, []any{after.Network, after.ID, limit}, func(s *stmt) error {
		return yield(s.blob())
	})
}

// blob reads a row of network, id, size and time.
func (s *stmt) blob() store.Blob {
	return store.Blob{Key: store.Key{Network: s.ColumnText(0), ID: s.ColumnText(1)}, Size: s.ColumnInt64(2), Time: time.UnixMilli(s.ColumnInt64(3)).UTC()}
}

// PutBlob implements store.Tx.
func (t *transaction) PutBlob(ctx context.Context, key store.Key, size int64, open func() (io.ReadCloser, error)) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	now, stored := time.Now().UnixMilli(), false
	err := t.conn.rows("UPDATE blobs SET time=? WHERE network=? AND id=? RETURNING 1", []any{now, key.Network, key.ID}, func(*stmt) error {
		stored = true
		return nil
	})
	if err == nil && !stored {
		err = t.conn.run("INSERT INTO blobs (network,id,size,time) VALUES (?,?,?,?)", key.Network, key.ID, size, now)
	}
	if err != nil || stored {
		return t.ended(err)
	}
	// An error of the caller's reader is returned unchanged, but ends the
	// transaction, because some pieces may be stored.
	t.broken = store.Pieces(open, size, blobPiece, func(n int, data []byte) error {
		if err := t.guard(ctx); err != nil {
			return err
		}
		return translate(ctx, t.putPiece(key, n, data))
	})
	return t.broken
}

func (t *transaction) putPiece(key store.Key, n int, data []byte) error {
	s, err := t.conn.prepare("INSERT INTO blob_pieces (network,id,n,data) VALUES (?,?,?,?)", key.Network, key.ID, n)
	if err != nil {
		return err
	}
	if err := s.BindBlob(4, data); err != nil {
		return err
	}
	return t.conn.fault(s.Exec())
}

// DropBlobs implements store.Tx.
func (t *transaction) DropBlobs(ctx context.Context, keys []store.Key) error {
	if err := t.guard(ctx); err != nil {
		return err
	}
	for _, key := range keys {
		err := errors.Join(t.conn.run("DELETE FROM blobs WHERE network=? AND id=?", key.Network, key.ID),
			t.conn.run("DELETE FROM blob_pieces WHERE network=? AND id=?", key.Network, key.ID))
		if err != nil {
			return t.ended(err)
		}
	}
	return nil
}
