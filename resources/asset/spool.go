package asset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
)

// spool is a file that was uploaded, on the disk until the call is over. It can
// be read as often as is wanted.
type spool struct {
	file   *os.File
	digest hash.Hash
	size   int64
	// named says that the file still has its name, as it has where one that is
	// open cannot be removed.
	named bool
}

// newSpool makes an empty one. Its file has no name from the beginning where
// that is possible, so that nothing is left of it even by a process that is
// killed.
func newSpool() (*spool, error) {
	file, err := os.CreateTemp("", "marquee-upload-*")
	if err != nil {
		return nil, err
	}
	return &spool{file: file, digest: sha256.New(), named: os.Remove(file.Name()) != nil}, nil
}

// Write adds to the file.
func (s *spool) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	s.digest.Write(b[:n])
	s.size += int64(n)
	return n, err
}

// sum is the SHA-256 of the content, as it is written in blob keys.
func (s *spool) sum() string { return hex.EncodeToString(s.digest.Sum(nil)) }

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(b []byte, offset int64) (int, error) { return s.file.ReadAt(b, offset) }

// reader reads the file from its beginning.
func (s *spool) reader() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

func (s *spool) open() (io.ReadCloser, error) { return io.NopCloser(s.reader()), nil }

// release removes the file.
func (s *spool) release() error {
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}
