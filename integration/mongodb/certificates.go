package mongodb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificates are the files of an authority that only these tests trust.
type certificates struct {
	authority, server, client string
	user                      string // what the client's certificate calls its bearer
}

func makeCertificates(folder string) (*certificates, error) {
	c := &certificates{
		authority: filepath.Join(folder, "authority.pem"),
		server:    filepath.Join(folder, "server.pem"),
		client:    filepath.Join(folder, "client.pem"),
	}
	authority, err := newIssuer(c.authority)
	if err != nil {
		return nil, err
	}
	// A member shows its certificate to other members, too. A client's must
	// differ in the organisation: else it would be taken for a member's.
	_, err = authority.issue(c.server, pkix.Name{CommonName: "mongod", Organization: []string{"servers"}},
		x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	client, err := authority.issue(c.client, pkix.Name{CommonName: "marquee", Organization: []string{"clients"}},
		x509.ExtKeyUsageClientAuth)
	if err != nil {
		return nil, err
	}
	c.user = client.Subject.String()
	return c, nil
}

type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newIssuer writes its certificate, without the key, to a file.
func newIssuer(file string) (*issuer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate(pkix.Name{CommonName: "marquee tests"})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &issuer{certificate, key}, writePEM(file, &pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue writes a certificate of this machine and its key into one file.
func (i *issuer) issue(file string, subject pkix.Name, usage ...x509.ExtKeyUsage) (*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := newTemplate(subject)
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, usage
	template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, key.Public(), i.key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	err = writePEM(file, &pem.Block{Type: "CERTIFICATE", Bytes: der}, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func newTemplate(subject pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(24 * time.Hour),
	}
}

func writePEM(file string, blocks ...*pem.Block) error {
	var text []byte
	for _, block := range blocks {
		text = append(text, pem.EncodeToMemory(block)...)
	}
	return os.WriteFile(file, text, 0o600)
}
