package marquee

import (
	"cmp"
	"context"
	"crypto/tls"
	"io/fs"
	"log/slog"
	"time"

	"marquee/auth"
	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/engine"
	"marquee/engine/listen"
	"marquee/engine/rest"
	"marquee/engine/schema"
	"marquee/engine/spool"
	"marquee/engine/store"
)

// Options configure a Server. Each field may be left out.
type Options struct {
	// Application is what the program brings: types, rules, routes, messages.
	Application Application
	// Schemas adds types, one a file, to those of the application.
	Schemas fs.FS
	// SchemaFolder is a folder on disk that adds types, too. Start watches it: when its
	// files change, they are served without a restart. A set with a mistake is logged,
	// and the previous one remains.
	SchemaFolder string
	// Types are compiled types, in place of those of Application, Schemas and
	// SchemaFolder.
	Types *schema.Registry

	// Folder is where the default store and its key are kept; "" is marquee-data.
	Folder string
	// Store keeps the records; nil is an SQLite file in Folder. Close does not close
	// a store that was given.
	Store store.Store
	// Sealer encrypts secrets and the keys that sign access tokens. Nil is one with
	// the key in Folder if the store is the default one. Without a sealer, types
	// cannot have secrets, and access tokens end with the process.
	Sealer engine.Sealer

	// Lifetimes are those of tokens and of the keys that sign them; the zero value is
	// auth.DefaultLifetimes.
	Lifetimes auth.Lifetimes

	// First is made in an empty store if it has a password.
	First First

	// Passwords is what passwords must satisfy when they are set.
	Passwords password.Policy
	// SignIns limits failed sign-ins.
	SignIns password.Limits
	// MaxSessions is the maximum number of sessions of a user, beyond which the oldest ends
	// when a new one begins; 0 means session.DefaultMax.
	MaxSessions int
	// Networks bounds in how many networks a user has roles.
	Networks rights.NetworkLimits

	// Log receives what an operator should see; nil discards it.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Interval is the interval at which work in the background looks for something to do; 0 is
	// ten seconds.
	Interval time.Duration

	// HistoryDays is the number of days for which the history is kept, with the changes that
	// clients can follow, and notifications; 0 keeps it for ever.
	HistoryDays int

	// Meter counts the requests; nil means one of its own. It is the same for Front and Open.
	Meter *rest.Meter
	// RequestTimeout is the longest that a request may take; 0 is 30 seconds.
	RequestTimeout time.Duration
	// Slow is the time from which the line of a request in the log has its parameters; 0 means
	// never.
	Slow time.Duration
	// Memory is the maximum number of bytes that all requests may use together; 0 is 256 MiB.
	Memory int64
	// Spool keeps large bodies and answers; nil keeps them in the folder for
	// temporary files.
	Spool *spool.Spool
	// TrustedProxies are the addresses of proxies, whose ProxyHeader names the client:
	// X-Forwarded-For, which is the default, or Forwarded.
	TrustedProxies []string
	ProxyHeader    string
	// Certificate makes the listener of Listen one for TLS, with HTTP/2, such as
	// listen.Certificate.Get. StrictTransport is the max-age of the
	// Strict-Transport-Security header; 0 omits it.
	Certificate     func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	StrictTransport time.Duration
	// CORS are the origins whose scripts may call the service.
	CORS rest.CORS
	// RateLimits bound what callers and addresses can use in a time.
	RateLimits rest.RateLimits
	// Connections is the maximum number of open connections, AddressConnections how many
	// of one address, on the listener that Listen returns; 0 are the defaults of
	// package listen.
	Connections, AddressConnections int
	// Streams is the maximum number of requests that stream changes or wait for them; 0 means
	// rest.DefaultStreams.
	Streams int
	// ReceiveTimeout is how long a client may take to receive 16 KiB of a stream of changes, or a
	// line of a call that takes long; 0 is 30 seconds.
	ReceiveTimeout time.Duration
	// PublicURL is the absolute URL at which clients reach the server, without a slash at
	// its end. The OpenAPI document and the metadata of the token endpoint name it; "" leaves
	// URLs of the former relative, and takes those of the latter from the request.
	PublicURL string
	// NoConsole leaves out the console, which is at /console/, and to which / leads browsers.
	NoConsole bool
	// Version is shown by /healthz.
	Version string
	// Notes are added to the answer of /readyz, which everybody can read.
	Notes func() map[string]string
	// SchemaSet returns the number of the set of schemas with a digest that is served, which
	// /readyz and /api/schemas show; 0 is none, and nil always returns 0.
	SchemaSet func(digest string) int64
	// Accept is called before the types are served, when the store is known to be one of the
	// application; its error ends Open. Nil accepts them.
	Accept func(context.Context) error
}

// DefaultInterval is that of Options.Interval.
const DefaultInterval = 10 * time.Second

func (o *Options) setDefaults() {
	if o.Folder == "" {
		o.Folder = "marquee-data"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Lifetimes == (auth.Lifetimes{}) {
		o.Lifetimes = auth.DefaultLifetimes
	}
	o.First.setDefaults()
}

// rest returns the settings of requests and connections.
func (o *Options) rest() rest.Config {
	return rest.Config{Log: o.Log, Meter: o.Meter, Slow: o.Slow, Spool: o.Spool, Memory: o.Memory, Deadline: o.RequestTimeout, Version: o.Version,
		TrustedProxies: o.TrustedProxies, ProxyHeader: o.ProxyHeader,
		Connections:     listen.Config{Most: o.Connections, MostOfAddress: o.AddressConnections, Certificate: o.Certificate},
		StrictTransport: o.StrictTransport, CORS: o.CORS, RateLimits: o.RateLimits, Streams: o.Streams, ReceiveTimeout: o.ReceiveTimeout}
}

// First is the first network of a store, and its administrator, who has a role with
// every permission there.
type First struct {
	// Network is the id and name of the network; "" is main.
	Network string
	// Username and Password are those to sign in with; "" is admin, and no
	// administrator.
	Username, Password string
	// UserID and RoleID are ids; "" is a new one.
	UserID, RoleID string
}

func (f *First) setDefaults() {
	f.Network, f.Username = cmp.Or(f.Network, "main"), cmp.Or(f.Username, "admin")
	f.UserID, f.RoleID = cmp.Or(f.UserID, store.NewID()), cmp.Or(f.RoleID, store.NewID())
}
