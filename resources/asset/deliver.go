package asset

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// Deliver answers with a file to everybody who knows its place, as long as its
// asset is ACTIVE.
func (a *Rules) Deliver(r *rest.Call, below string) error {
	name, file, _ := strings.Cut(strings.TrimSuffix(below, "/"), "/")
	content, found, err := find(r.Context(), r.Engine().Store, name, file)
	if err != nil {
		return engine.Translate(err)
	}
	if !found {
		return message.PathUnknown.Error(nil)
	}
	for name, value := range map[string]string{
		"Content-Security-Policy":      policyOf(content.Type),
		"Content-Disposition":          disposition(path.Base(file)),
		"Cache-Control":                "public, max-age=31536000, immutable",
		"Cross-Origin-Resource-Policy": "cross-origin",
		// A page in a sandbox has no origin, and still loads the fonts and modules of
		// its own bundle.
		"Access-Control-Allow-Origin": "*",
	} {
		r.Header().Set(name, value)
	}
	return engine.Translate(r.Content(content))
}

// find looks up a file.
func find(ctx context.Context, s store.Store, name, file string) (content rest.Content, found bool, err error) {
	err = s.Read(ctx, func(snapshot store.Snapshot) error {
		found = false
		var key store.Key
		var of *delivery
		err := readDeliveries(ctx, snapshot, []string{name}, func(_ string, d *delivery, r *store.Record) {
			for _, f := range d.Files {
				if f.Path == file {
					of, key = d, d.key(f)
					content = rest.Content{Type: f.Type, ETag: `"` + f.SHA256 + `"`, Modified: r.CreateTime}
				}
			}
		})
		if err != nil || of == nil {
			return err
		}
		err = snapshot.Get(ctx, collection, []store.Key{{Network: of.Network, ID: of.Asset}}, func(r *store.Record) error {
			found = r.State == "ACTIVE"
			return nil
		})
		if err != nil || !found {
			return err
		}
		size, stored, err := snapshot.Blob(ctx, key, 0, 0, func([]byte) error { return nil })
		if err == nil && !stored {
			err = errBlobMissing
		}
		content.Size, content.Reader = size, &blobReader{ctx: ctx, store: s, key: key, size: size}
		return err
	})
	return content, found, err
}

var errBlobMissing = errors.New("a file that is delivered is not in the store")

const (
	// pieceBytes is how much of a file is in memory while it is sent.
	pieceBytes = 256 << 10
	// pieceTime is how long the reading of a piece may take. The whole takes as
	// long as the client wants, within the server's own limits.
	pieceTime = 30 * time.Second
)

// blobReader reads a blob piece by piece, each from a snapshot of its own: none
// is held while a client takes its time. What is stored under the hash of its
// content never changes.
type blobReader struct {
	ctx   context.Context
	store store.Store
	key   store.Key
	size  int64

	at    int64
	piece []byte
	begin int64 // of the piece
}

func (b *blobReader) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	if b.at < b.begin || b.at >= b.begin+int64(len(b.piece)) {
		if err := b.load(b.at / pieceBytes * pieceBytes); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.piece[b.at-b.begin:])
	b.at += int64(n)
	return n, nil
}

func (b *blobReader) load(begin int64) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), pieceTime)
	defer cancel()
	b.piece, b.begin = b.piece[:0], begin
	err := b.store.Read(ctx, func(s store.Snapshot) error {
		b.piece = b.piece[:0]
		_, _, err := s.Blob(ctx, b.key, begin, pieceBytes, func(data []byte) error {
			b.piece = append(b.piece, data...)
			return nil
		})
		return err
	})
	if err == nil && int64(len(b.piece)) != min(pieceBytes, b.size-begin) {
		return message.PathUnknown.Error(nil).Caused(errBlobMissing) // dropped since, as the asset has another file
	}
	return err
}

// Seek implements io.Seeker.
func (b *blobReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, errors.New("a place before the beginning")
	}
	b.at = offset
	return offset, nil
}
