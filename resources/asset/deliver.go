package asset

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"marquee/engine/document"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/engine/store"
)

// deliver serves a file to everyone who knows its path, as long as the asset is
// ACTIVE.
func (a *Rules) deliver(r *rest.Call) error {
	name, file, _ := strings.Cut(strings.TrimSuffix(r.PathValue("below"), "/"), "/")
	content, found, err := a.find(r.Context(), r.Engine().Store, name, file)
	if err != nil {
		return store.Translate(err)
	}
	if !found {
		return message.PathUnknown.Error(nil)
	}
	for name, value := range map[string]string{
		"Content-Security-Policy": policyOf(content.Type),
		"Content-Disposition":     disposition(path.Base(file)),
		// Caches must revalidate, so that they do not deliver deactivated assets.
		"Cache-Control":                "no-cache",
		"Cross-Origin-Resource-Policy": "cross-origin",
		// A sandboxed page has an opaque origin, but must load the fonts and modules
		// of its bundle.
		"Access-Control-Allow-Origin": "*",
	} {
		r.Header().Set(name, value)
	}
	return store.Translate(r.Content(content))
}

// find returns the file at a path of a delivery. The files of a delivery never change,
// so that they may come from memory. Whether it has ended is known from the asset, which
// is then delivered from another path, or not ACTIVE.
func (a *Rules) find(ctx context.Context, s store.Store, name, file string) (content rest.Content, found bool, err error) {
	known, _ := a.known.Get(name)
	var of *delivery
	err = s.Read(ctx, func(snapshot store.Snapshot) error {
		found = false
		if of = known; of == nil {
			err := readDeliveries(ctx, snapshot, []string{name}, func(_ string, d *delivery, _ *store.Record) { of = d })
			if err != nil || of == nil {
				return err
			}
		}
		f, ok := of.file(file)
		if !ok {
			return nil
		}
		err := snapshot.Get(ctx, collection, []store.Key{{Network: of.Network, ID: of.Asset}}, func(r *store.Record) error {
			found = r.State == "ACTIVE" && deliveryName(document.MemberText(r.Document, "cdnId")) == name
			return nil
		})
		if err != nil || !found {
			return err
		}
		key := of.key(f)
		size, stored, err := snapshot.Blob(ctx, key, 0, 0, func([]byte) error { return nil })
		if err == nil && !stored {
			err = errBlobMissing
		}
		content = rest.Content{Type: f.Type, ETag: `"` + f.SHA256 + `"`, Modified: of.began, Size: size,
			Reader: &blobReader{ctx: ctx, store: s, pieces: a.pieces, key: key, size: size}}
		return err
	})
	if err == nil && known == nil && of != nil && len(of.Files) > 0 { // otherwise, it had ended
		a.known.Put(name, of)
	}
	return content, found, err
}

var errBlobMissing = errors.New("a delivered file is missing from the store")

// pieceTime is the time limit for reading a piece. The limit for the whole file is
// the server's.
const pieceTime = 30 * time.Second

// blobReader reads a blob in pieces, each from its own snapshot, so that a slow client
// holds neither.
type blobReader struct {
	ctx    context.Context
	store  store.Store
	pieces *pieces
	key    store.Key
	size   int64
	at     int64
}

func (b *blobReader) Read(p []byte) (int, error) {
	if b.at >= b.size {
		return 0, io.EOF
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), pieceTime)
	defer cancel()
	begin := b.at / pieceBytes * pieceBytes
	piece, err := b.pieces.get(ctx, b.key, begin, func() ([]byte, error) { return b.load(ctx, begin) })
	if err != nil {
		return 0, err
	}
	n := copy(p, piece[b.at-begin:])
	b.at += int64(n)
	return n, nil
}

func (b *blobReader) load(ctx context.Context, begin int64) ([]byte, error) {
	piece := make([]byte, 0, min(pieceBytes, b.size-begin))
	err := b.store.Read(ctx, func(s store.Snapshot) error {
		piece = piece[:0]
		_, _, err := s.Blob(ctx, b.key, begin, pieceBytes, func(data []byte) error {
			piece = append(piece, data...)
			return nil
		})
		return err
	})
	if err == nil && int64(len(piece)) != min(pieceBytes, b.size-begin) {
		return nil, message.PathUnknown.Error(nil).Caused(errBlobMissing) // the file was replaced and collected
	}
	return piece, err
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
		return 0, errors.New("negative position")
	}
	b.at = offset
	return offset, nil
}
