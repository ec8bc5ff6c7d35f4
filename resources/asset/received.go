package asset

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"marquee/engine/spool"
)

// received is an uploaded file, in a temporary file until the end of the call. It can
// be read repeatedly.
type received struct {
	*spool.File
	digest hash.Hash
}

func receive(file *spool.File) *received { return &received{file, sha256.New()} }

// Write implements io.Writer.
func (f *received) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.digest.Write(b[:n])
	return n, err
}

// sum returns the SHA-256 of the content as in blob keys.
func (f *received) sum() string { return hex.EncodeToString(f.digest.Sum(nil)) }

func (f *received) open() (io.ReadCloser, error) { return io.NopCloser(f.Reader()), nil }
