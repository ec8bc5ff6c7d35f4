package listen

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues the certificates of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{t, cert, key}
}

// issue returns the PEM files of a certificate for 127.0.0.1.
func (a *authority) issue(serial int64, until time.Time) (cert, key []byte) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: until.Add(-48 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// certificate returns a Certificate and the paths of its files.
func (a *authority) certificate(serial int64) (c *Certificate, certFile, keyFile string) {
	a.t.Helper()
	certFile, keyFile = filepath.Join(a.t.TempDir(), "cert.pem"), filepath.Join(a.t.TempDir(), "key.pem")
	cert, key := a.issue(serial, time.Now().Add(24*time.Hour))
	a.write(certFile, cert)
	a.write(keyFile, key)
	c, err := LoadCertificate(certFile, keyFile)
	if err != nil {
		a.t.Fatal(err)
	}
	return c, certFile, keyFile
}

func (a *authority) write(path string, content []byte) {
	a.t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func TestCertificateIsReplaced(t *testing.T) {
	a := newAuthority(t)
	c, certFile, keyFile := a.certificate(10)
	served := func() int64 { return c.served.Load().Leaf.SerialNumber.Int64() }
	var log bytes.Buffer
	ticks, ended := make(chan time.Time), make(chan struct{})
	go func() {
		defer close(ended)
		c.Follow(t.Context(), ticks, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	// The second of two ticks is received when the first has been worked on, the third
	// when the second has.
	look := func() {
		for range 3 {
			ticks <- time.Time{}
		}
	}
	cert, key := a.issue(11, time.Now().Add(24*time.Hour))
	a.write(certFile, cert)
	look()
	if served() != 10 {
		t.Error("a certificate is served without its key")
	}
	if !strings.Contains(log.String(), "previous one remains in use") {
		t.Errorf("log: %s", log.String())
	}
	a.write(keyFile, key)
	look()
	if served() != 11 {
		t.Error("the new pair is not served")
	}
	// The chain is cut off within the certificate of the issuer.
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	next, nextKey := a.issue(12, time.Now().Add(24*time.Hour))
	a.write(keyFile, nextKey)
	a.write(certFile, append(bytes.Clone(next), chain[:len(chain)/2]...))
	look()
	if served() != 11 {
		t.Error("a chain that is cut off is served")
	}
	a.write(certFile, append(next, chain...))
	look()
	if served() != 12 || len(c.served.Load().Certificate) != 2 {
		t.Error("the chain is not served")
	}
	for name, change := range map[string]func(){
		"expired": func() {
			cert, key := a.issue(13, time.Now().Add(-time.Hour))
			a.write(certFile, cert)
			a.write(keyFile, key)
		},
		"empty": func() { a.write(certFile, nil) },
		"gone":  func() { _ = os.Remove(certFile) },
		"large": func() { a.write(certFile, make([]byte, maxPEMBytes+1)) },
	} {
		change()
		look()
		if served() != 12 {
			t.Errorf("%s: %d is served", name, served())
		}
	}
}
