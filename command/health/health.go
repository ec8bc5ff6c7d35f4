// Package health is the command that asks a running service whether it is ready.
package health

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"marquee"
	"marquee/command/exit"
)

// Command is marquee health. An image without a shell has no other way to find
// out whether the service in it is ready.
type Command struct {
	URL     string `help:"Where the service listens; by default, the address that --addr and --tls-cert describe." placeholder:"URL"`
	Addr    string `default:"127.0.0.1:8080" help:"The --addr of ${program} serve on this machine." placeholder:"HOST:PORT"`
	TLSCert string `name:"tls-cert" help:"The --tls-cert of ${program} serve; the request then uses HTTPS." placeholder:"FILE"`
}

const (
	healthTimeout = marquee.ReadyTimeout + 2*time.Second
	healthBytes   = 8 << 10
)

// Run prints the answer of a service that is ready, and is otherwise an error.
func (c *Command) Run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	url, client, err := c.service()
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the service does not answer: %w", exit.Cause(err))
	}
	defer response.Body.Close()
	reason, err := io.ReadAll(io.LimitReader(response.Body, healthBytes))
	if err != nil {
		return fmt.Errorf("the response of the service is incomplete: %w", exit.Cause(err))
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the service is not ready: %s: %s", response.Status, reason)
	}
	fmt.Println(strings.TrimSpace(string(reason)))
	return nil
}

// service returns the URL of the service, and the client to ask it with.
func (c *Command) service() (url string, client *http.Client, err error) {
	if c.URL != "" {
		return c.URL, http.DefaultClient, nil
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return "", nil, exit.Usagef("--addr must be a host and a port, such as 127.0.0.1:8080")
	}
	switch at, err := netip.ParseAddr(host); {
	case host == "", err == nil && at == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && at == netip.IPv6Unspecified():
		host = "::1"
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	// Without Proxy: no proxy can reach an address of this machine.
	return scheme + "://" + net.JoinHostPort(host, port), &http.Client{Transport: &http.Transport{DialTLSContext: dialLocalTLS}}, nil
}

// dialLocalTLS connects to a service over TLS. It does not verify the certificate of
// one on the same machine: the certificate rarely names the loopback address, and the
// service may rightly have another one than the file, which it does not use before it
// is complete. Nothing secret is sent, and whoever can answer there has taken the port.
func dialLocalTLS(ctx context.Context, network, address string) (net.Conn, error) {
	plain, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		_ = plain.Close() // it has not been used
		return nil, err
	}
	conn := tls.Client(plain, &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: sameMachine(plain)}) // #nosec G402 -- the connection does not leave the machine
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close() // it has failed already
		return nil, err
	}
	return conn, nil
}

// sameMachine reports whether a connection leads to the machine that it comes from:
// then its source is the same address, or its target a loopback address.
func sameMachine(c net.Conn) bool {
	local, ok := c.LocalAddr().(*net.TCPAddr)
	remote, tcp := c.RemoteAddr().(*net.TCPAddr)
	return ok && tcp && (remote.IP.IsLoopback() || remote.IP.Equal(local.IP))
}
