package program

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"marquee/integration/process"
	"marquee/integration/service"
)

// selfSigned writes a certificate for 127.0.0.1 that is its own authority, and its key.
func selfSigned(t *testing.T, certFile, keyFile string, serial int64) (pool *x509.CertPool) {
	t.Helper()
	return selfSignedFor(t, certFile, keyFile, serial, time.Hour)
}

// selfSignedFor is selfSigned for a certificate that expires after a time.
func selfSignedFor(t *testing.T, certFile, keyFile string, serial int64, lasts time.Duration) (pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(lasts),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		var text bytes.Buffer
		_ = pem.Encode(&text, block) // a buffer has no errors
		if file == certFile {
			pool.AppendCertsFromPEM(text.Bytes())
		}
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

// TestServeTLS: the program serves HTTPS with HTTP/2, and replaces the certificate
// when its files change, while connections go on.
func TestServeTLS(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	pool := selfSigned(t, certFile, keyFile, 1)
	p := process.Serve(t, service.NewSQLite(t), "--tls-cert", certFile, "--tls-key", keyFile, "--hsts-max-age", "1h", "--cors-origins", "https://app.example.com")
	process.Wants(t, p.URL, "https://")
	process.Wants(t, process.Run(t, []string{"SSL_CERT_FILE=" + certFile}, "health", "--url", p.URL), `"status":"ready"`)

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	p.Client.Transport = transport
	p.SignIn(service.Admin, process.Password)
	p.Ask(http.StatusCreated, http.MethodPut, "/api/v1/tiers/a?context=main", `{"name": "a"}`)
	a := p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers/a?context=main", "")
	if got := a.Header.Get("Strict-Transport-Security"); got != "max-age=3600" {
		t.Errorf("Strict-Transport-Security is %q", got)
	}

	next := selfSigned(t, certFile, keyFile, 2)
	p.Stderr.Await(t, 0, service.Says("the certificate was replaced"))
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/tiers/a?context=main", "") // on the connection from before
	address, err := hostOf(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: next, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if state := c.ConnectionState(); state.NegotiatedProtocol != "h2" || state.PeerCertificates[0].SerialNumber.Int64() != 2 {
		t.Errorf("%s, certificate %v", state.NegotiatedProtocol, state.PeerCertificates[0].SerialNumber)
	}
	p.Stop()
}

// TestEdgeSettings: settings that would serve something else than was meant are
// refused before a store is made.
func TestEdgeSettings(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	selfSigned(t, certFile, keyFile, 1)
	other := filepath.Join(t.TempDir(), "other.pem")
	selfSigned(t, filepath.Join(t.TempDir(), "cert.pem"), other, 2)
	for wants, args := range map[string][]string{
		"belong together":            {"--tls-cert", certFile},
		"there is no ":               {"--tls-cert", certFile + "x", "--tls-key", keyFile},
		"private key does not match": {"--tls-cert", certFile, "--tls-key", other},
		"hsts-max-age":               {"--hsts-max-age", "-1s"},
		"is not an origin":           {"--cors-origins", "*"},
		"default port":               {"--cors-origins", "https://app.example.com:443"},
		"needs --cors-origins":       {"--cors-credentials"},
		"--rate-limit-caller":        {"--rate-limit-caller", "many/1m"},
		"--rate-limit-address":       {"--rate-limit-address", "0/1m"},
		"--trusted-proxies":          {"--trusted-proxies", "proxy.example"},
		"proxy-header":               {"--proxy-header", "X-Real-IP"},
	} {
		process.Wants(t, process.Fails(t, nil, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...), wants)
	}
}

func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return u.Host, nil
}
