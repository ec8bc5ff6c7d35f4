package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// Certificate is a certificate and its key from two PEM files, which are read again
// when they change. It is safe for concurrent use.
type Certificate struct {
	certFile, keyFile string
	served            atomic.Pointer[tls.Certificate]
	// files are those that are served, seen those that were read last.
	files, seen pemFiles
}

// pemFiles are the contents of the two files.
type pemFiles struct{ cert, key []byte }

func (f pemFiles) equal(other pemFiles) bool {
	return bytes.Equal(f.cert, other.cert) && bytes.Equal(f.key, other.key)
}

// maxPEMBytes bounds the size of a PEM file.
const maxPEMBytes = 1 << 20

// LoadCertificate reads the files. The first has the certificate of the server and
// then those that lead to its issuer, the second the private key.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	files, err := c.read()
	if err != nil {
		return nil, err
	}
	loaded, err := files.parse()
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
	}
	c.served.Store(loaded)
	c.files, c.seen = files, files
	return c, nil
}

// Get returns the certificate, for tls.Config.GetCertificate.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.served.Load(), nil
}

// Expires returns when the certificate that is served expires.
func (c *Certificate) Expires() time.Time { return c.served.Load().Leaf.NotAfter }

// CertificateInterval is how often Follow should look at the files.
const CertificateInterval = time.Second

// Follow reads the files whenever ticks sends, until the context ends, and serves a
// new pair once it is complete: the files were the same twice, no PEM block is cut
// off, the key is that of the certificate, and the certificate has not expired. Until
// then, it serves the old pair, and logs why. It also logs when the certificate has expired. Follow must not be called concurrently.
func (c *Certificate) Follow(ctx context.Context, ticks <-chan time.Time, log *slog.Logger) {
	reported, expired := "", false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		replaced, err := c.reload()
		if gone := time.Now().After(c.Expires()); gone != expired {
			if expired = gone; gone {
				log.Error("the certificate has expired", slog.String("file", c.certFile), slog.Time("expires", c.Expires()))
			}
		}
		switch {
		case replaced:
			log.Info("the certificate was replaced", slog.String("file", c.certFile), slog.Time("expires", c.Expires()))
			reported = ""
		case err == nil:
			reported = ""
		case err.Error() != reported:
			reported = err.Error()
			log.Error("the new certificate cannot be used; the previous one remains in use", slog.String("file", c.certFile), slog.Time("expires", c.Expires()), slog.String("cause", reported))
		}
	}
}

// reload reads the files, and reports whether it has replaced the certificate.
func (c *Certificate) reload() (replaced bool, err error) {
	files, err := c.read()
	if err != nil {
		c.seen = pemFiles{}
		return false, err
	}
	settled := files.equal(c.seen)
	c.seen = files
	if !settled || files.equal(c.files) {
		return false, nil
	}
	loaded, err := files.parse()
	if err == nil && time.Now().After(loaded.Leaf.NotAfter) {
		err = fmt.Errorf("the certificate has expired at %s", loaded.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if err != nil {
		return false, err
	}
	c.served.Store(loaded)
	c.files = files
	return true, nil
}

func (c *Certificate) read() (files pemFiles, err error) {
	if files.cert, err = readPEM(c.certFile); err != nil {
		return files, err
	}
	files.key, err = readPEM(c.keyFile)
	return files, err
}

func readPEM(path string) ([]byte, error) {
	file, err := os.Open(path) // #nosec G304 -- the operator chooses the file
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxPEMBytes+1))
	if err == nil && len(content) > maxPEMBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, maxPEMBytes)
	}
	return content, err
}

// parse returns the pair. No error contains a part of the files.
func (f pemFiles) parse() (*tls.Certificate, error) {
	for _, content := range [][]byte{f.cert, f.key} {
		for block, rest := pem.Decode(content); ; block, rest = pem.Decode(rest) {
			if block == nil {
				if bytes.Contains(rest, []byte("-----BEGIN")) {
					return nil, errors.New("the last PEM block is incomplete")
				}
				break
			}
		}
	}
	pair, err := tls.X509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}
