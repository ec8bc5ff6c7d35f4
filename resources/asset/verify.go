package asset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"

	"marquee/engine/document"
	"marquee/engine/store"
)

// Verify returns the faults of the files of a stored asset: missing bytes, a wrong
// size, or content that differs from the upload.
func Verify(ctx context.Context, s store.Snapshot, r *store.Record) (faults []string, err error) {
	asset, err := document.DecodeObject(r.Document, document.Limits{Depth: 1000})
	if err != nil {
		return nil, err
	}
	address, _ := asset["cdnId"].(string)
	if address == "" {
		return nil, nil // nothing was uploaded
	}
	var found *delivery
	if err := readDeliveries(ctx, s, []string{deliveryName(address)}, func(_ string, d *delivery, _ *store.Record) { found = d }); err != nil {
		return nil, err
	}
	if found == nil {
		return []string{"its file has no delivery at " + address}, nil
	}
	for _, f := range found.Files {
		content := sha256.New()
		size, stored, err := s.Blob(ctx, found.key(f), 0, math.MaxInt64, func(piece []byte) error {
			content.Write(piece)
			return ctx.Err()
		})
		switch {
		case err != nil:
			return nil, err
		case !stored:
			faults = append(faults, fmt.Sprintf("the bytes of its file %q are missing", f.Path))
		case f.Size > 0 && size != f.Size:
			faults = append(faults, fmt.Sprintf("its file %q has %d bytes instead of %d", f.Path, size, f.Size))
		case hex.EncodeToString(content.Sum(nil)) != f.SHA256:
			faults = append(faults, fmt.Sprintf("the bytes of its file %q differ from the upload", f.Path))
		}
	}
	return faults, nil
}
