package command

import (
	"context"
	"fmt"
	"log/slog"
	"marquee/auth/seal"
	"time"

	"github.com/alecthomas/kong"

	"marquee"
	"marquee/command/exit"
	"marquee/command/limits"
	"marquee/engine/listen"
	"marquee/engine/rest"
	"marquee/engine/rest/header"
)

// connectionFlags are the settings of marquee serve about who connects, and how.
type connectionFlags struct {
	TrustedProxies   []string      `help:"Addresses of the proxies whose --proxy-header is trusted, such as 10.0.0.0/8,192.0.2.1." placeholder:"CIDR,…"`
	ProxyHeader      string        `type:"choice" enum:"X-Forwarded-For,Forwarded" default:"X-Forwarded-For" help:"Header in which trusted proxies name the client: X-Forwarded-For or Forwarded." placeholder:"NAME"`
	TLSCert          string        `name:"tls-cert" help:"PEM file with the certificate and its chain: serve HTTPS, with HTTP/2. Read again when it changes." placeholder:"FILE"`
	TLSKey           string        `name:"tls-key" help:"PEM file with the key of --tls-cert." placeholder:"FILE"`
	HSTSMaxAge       time.Duration `name:"hsts-max-age" default:"8760h" help:"With --tls-cert, the max-age of Strict-Transport-Security; 0 omits the header." placeholder:"TIME"`
	CORSOrigins      []string      `name:"cors-origins" help:"Origins of web pages that may call the service, such as https://app.example.com." placeholder:"ORIGIN,…"`
	CORSCredentials  bool          `name:"cors-credentials" help:"Allow those pages to send credentials. The service uses no cookies; a proxy in front of it may."`
	RateLimitCaller  string        `help:"Rate limit of each caller, in objects written or returned, such as 6000/1m." placeholder:"OBJECTS/TIME"`
	RateLimitAddress string        `help:"Rate limit of each address (IPv6: one /64 network), in objects written or returned." placeholder:"OBJECTS/TIME"`
}

// check rejects invalid settings before the store is created.
func (f *connectionFlags) check() error {
	var errs []error
	if _, err := header.NewProxies(f.TrustedProxies, f.ProxyHeader); err != nil {
		errs = append(errs, exit.Usagef("--trusted-proxies: %w", err))
	}
	if (f.TLSCert == "") != (f.TLSKey == "") {
		errs = append(errs, exit.Usagef("--tls-cert and --tls-key belong together"))
	}
	if f.HSTSMaxAge < 0 {
		errs = append(errs, exit.Usagef("--hsts-max-age must not be less than 0"))
	}
	if err := f.cors().Check(); err != nil {
		errs = append(errs, exit.Usagef("--cors-origins: %w", err))
	}
	if f.CORSCredentials && len(f.CORSOrigins) == 0 {
		errs = append(errs, exit.Usagef("--cors-credentials needs --cors-origins"))
	}
	_, err := f.rateLimits()
	return exit.Refused(append(errs, err)...)
}

func (f *connectionFlags) cors() rest.CORS {
	return rest.CORS{Origins: f.CORSOrigins, Credentials: f.CORSCredentials}
}

func (f *connectionFlags) rateLimits() (limits rest.RateLimits, err error) {
	for _, limit := range []struct {
		flag, text string
		rate       *rest.Rate
	}{{"rate-limit-caller", f.RateLimitCaller, &limits.Caller}, {"rate-limit-address", f.RateLimitAddress, &limits.Address}} {
		if limit.text == "" {
			continue
		}
		if *limit.rate, err = rest.ParseRate(limit.text); err != nil {
			return limits, exit.Usagef("--%s: %w", limit.flag, err)
		}
	}
	return limits, nil
}

// certificate reads the files of the certificate; it is nil without TLS.
func (f *connectionFlags) certificate() (*listen.Certificate, error) {
	if f.TLSCert == "" {
		return nil, nil
	}
	certificate, err := listen.LoadCertificate(f.TLSCert, f.TLSKey)
	if err != nil {
		return nil, exit.Usagef("--tls-cert and --tls-key: the certificate cannot be used: %w", exit.Cause(err))
	}
	return certificate, nil
}

// set adds the settings, which were checked, to the options of the server.
func (f *connectionFlags) set(options *marquee.Options, certificate *listen.Certificate) {
	options.TrustedProxies, options.ProxyHeader, options.CORS = f.TrustedProxies, f.ProxyHeader, f.cors()
	options.RateLimits, _ = f.rateLimits()
	if certificate != nil {
		options.Certificate, options.StrictTransport = certificate.Get, f.HSTSMaxAge
	}
}

// scheme returns the scheme of the URL of the service.
func (f *connectionFlags) scheme() string {
	if f.TLSCert == "" {
		return "http"
	}
	return "https"
}

// followCertificate reads the certificate again when its files change, until end is
// called; the certificate may be nil.
func followCertificate(ctx context.Context, certificate *listen.Certificate, log *slog.Logger) (end func()) {
	if certificate == nil {
		return func() {}
	}
	return background(ctx, func(ctx context.Context) {
		ticks := time.NewTicker(listen.CertificateInterval)
		defer ticks.Stop()
		certificate.Follow(ctx, ticks.C, log)
	})
}

// check rejects settings that are out of their range, or do not belong together.
func (c *serveCommand) check(parsed *kong.Context) error {
	refused := append(append(c.configure(parsed), c.checkRanges()...), c.connectionFlags.check())
	if c.SecretKey != "" {
		if _, err := seal.ParseKeys(c.SecretKey); err != nil {
			refused = append(refused, exit.Usagef("--secret-key: %w", err))
		}
	}
	return exit.Refused(refused...)
}

// maxHistoryDays is the largest --history-days: times before year 0 have no form.
const maxHistoryDays = 100_000

// checkRanges rejects numbers and durations that are out of their range.
func (c *serveCommand) checkRanges() (errs []error) {
	for _, setting := range []struct {
		wrong bool
		text  string
	}{
		{c.ClockInterval <= 0, "--clock-interval must be greater than 0"},
		{c.RefreshReuseInterval < 0, "--refresh-reuse-interval must not be less than 0"},
		{c.SigningKeyLifetime != 0 && c.SigningKeyLifetime < minKeyLifetime, "--signing-key-lifetime must be 0, or at least " + minKeyLifetime.String()},
		{c.Slow < 0, "--slow must not be less than 0"},
		{c.RequestTimeout <= 0, "--request-timeout must be greater than 0"},
		{c.ReadTimeout < 0, "--read-timeout must not be less than 0"},
		{c.WriteTimeout < 0, "--write-timeout must not be less than 0"},
		{c.IdleTimeout < 0, "--idle-timeout must not be less than 0"},
		{c.DrainDelay < 0, "--drain-delay must not be less than 0"},
		{c.BackupAge < 0, "--backup-age must not be less than 0"},
		{c.BackupAge > 0 && sqlitePath(c.Store) == "", "--backup-age needs an SQLite store, whose backups the service makes"},
		{c.ShutdownTimeout < 0, "--shutdown-timeout must not be less than 0"},
		{c.MemoryBudget != 0 && c.MemoryBudget < limits.MinBudget, fmt.Sprintf("--memory-budget must be 0, or at least %d", limits.MinBudget)},
		{c.SpoolBudget < 0, "--spool-budget must not be less than 0"},
		{c.MaxConnections < 1, "--max-connections must be at least 1"},
		{c.HistoryDays < 0 || c.HistoryDays > maxHistoryDays, fmt.Sprintf("--history-days must be from 0 to %d", maxHistoryDays)},
		{c.MaxStreams < 1, "--max-streams must be at least 1"},
		{c.MaxConnectionsPerAddress < 1, "--max-connections-per-address must be at least 1"},
		{c.MaxFailedSignIns < 1, "--max-failed-sign-ins must be at least 1"},
		{c.MaxFailedFromAddress < 1, "--max-failed-sign-ins-per-address must be at least 1"},
		{c.FailedSignInWindow < time.Minute, "--failed-sign-in-window must be at least 1m"},
		{c.MaxCreatedNetworks < 1, "--max-created-networks must be at least 1"},
		{c.MaxGrantedNetworks < 1, "--max-granted-networks must be at least 1"},
		{c.refusesPasswords(), refusedMinLength},
		{c.MaxSessions < 1 || c.MaxSessions > 1000, "--max-sessions must be from 1 to 1000"},
	} {
		if setting.wrong {
			errs = append(errs, exit.Usagef("%s", setting.text))
		}
	}
	return errs
}
