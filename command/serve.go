package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"marquee"
	"marquee/auth"
	"marquee/auth/password"
	"marquee/auth/rights"
	"marquee/command/exit"
	"marquee/command/limits"
	"marquee/command/metrics"
	"marquee/engine/folder"
	"marquee/engine/rest"
	"marquee/engine/spool"
)

// serveCommand is marquee serve.
type serveCommand struct {
	storeFlags
	unservedFlags
	StrictSchemas bool   `help:"Exit if the schemas of the folder are rejected at startup, instead of serving those that were accepted last."`
	SchemaChanges string `type:"choice" enum:"any,stored,clients" default:"any" help:"Which changes of schemas of types with objects are served: any; stored, all but those that make stored values invalid or hide them; clients, all but those and what breaks requests or responses." placeholder:"WHICH"`
	bootstrapFlags
	kong.Plugins
	Addr                     string        `default:"127.0.0.1:8080" help:"Address to listen on." placeholder:"HOST:PORT"`
	PrivateAddr              string        `help:"Address for operators, with /metrics, /debug/pprof and /log, which must not be reachable publicly." placeholder:"HOST:PORT"`
	LogFormat                string        `type:"choice" enum:"json,text" default:"text" help:"Format of the log: json or text." placeholder:"FORMAT"`
	LogLevel                 string        `type:"choice" enum:"debug,info,warn,error" default:"info" help:"Minimum level to log: debug, info, warn or error." placeholder:"LEVEL"`
	RefreshReuseInterval     time.Duration `default:"30s" help:"How long a used refresh token can be sent again for the same successor. Later use ends the session." placeholder:"TIME"`
	SigningKeyLifetime       time.Duration `default:"720h" help:"How long a key signs access tokens before the next one replaces it; 0 means until it is rotated by command." placeholder:"TIME"`
	Slow                     time.Duration `default:"1s" help:"Duration from which the line of a request in the log has its parameters; 0 means never." placeholder:"TIME"`
	RequestTimeout           time.Duration `default:"30s" help:"How long a request may take." placeholder:"TIME"`
	ReadTimeout              time.Duration `default:"60s" help:"How long reading a request may take." placeholder:"TIME"`
	WriteTimeout             time.Duration `default:"120s" help:"How long a request and its response may take." placeholder:"TIME"`
	IdleTimeout              time.Duration `default:"120s" help:"How long an idle connection is kept open." placeholder:"TIME"`
	ClockInterval            time.Duration `default:"10s" help:"How often the service looks for objects that change with time, such as those whose end date has passed." placeholder:"TIME"`
	PublicURL                rest.BaseURL  `name:"public-url" help:"URL at which clients reach the service; the OpenAPI document names it." placeholder:"URL"`
	Console                  string        `type:"choice" enum:"on,off" default:"on" help:"The console, pages for people at /console/: on or off." placeholder:"WHICH"`
	MemoryBudget             int64         `default:"0" help:"Memory for all requests together; 0 means 256 MiB, or a third of a container's memory if that is less, of which SQLite's caches get an eighth." placeholder:"BYTES"`
	SpoolBudget              int64         `default:"0" help:"Disk space for all temporary files together; 0 means 2 GiB, less on a small disk." placeholder:"BYTES"`
	MaxConnections           int           `default:"2048" help:"Maximum number of open connections." placeholder:"NUMBER"`
	HistoryDays              int           `default:"0" help:"Number of days for which the history is kept, and the changes that clients can follow. 0 keeps it for ever." placeholder:"DAYS"`
	MaxStreams               int           `default:"1000" help:"Maximum number of requests that stream changes or wait for them." placeholder:"NUMBER"`
	MaxConnectionsPerAddress int           `default:"512" help:"Maximum number of open connections from one address (IPv6: one /64 network) that is not a trusted proxy." placeholder:"NUMBER"`
	MaxFailedSignIns         int           `default:"5" help:"How many sign-ins with a username can fail before further ones are refused for a time." placeholder:"NUMBER"`
	MaxFailedFromAddress     int           `name:"max-failed-sign-ins-per-address" default:"100" help:"The same for an address (IPv6: one /64 network)." placeholder:"NUMBER"`
	FailedSignInWindow       time.Duration `default:"15m" help:"How long a failed sign-in counts." placeholder:"TIME"`
	MaxCreatedNetworks       int           `default:"1000" help:"Maximum number of networks created by a user in which the user can have roles." placeholder:"NUMBER"`
	MaxGrantedNetworks       int           `default:"1000" help:"Maximum number of other networks in which a user can be given roles." placeholder:"NUMBER"`
	MaxSessions              int           `default:"100" help:"How many sessions a user can have; beyond that, the oldest ends when a new one begins." placeholder:"NUMBER"`
	DrainDelay               time.Duration `default:"5s" help:"How long to continue to serve after SIGTERM while /readyz returns 503, so that load balancers notice." placeholder:"TIME"`
	ShutdownTimeout          time.Duration `default:"60s" help:"How long to wait at shutdown for requests in progress." placeholder:"TIME"`
	BackupAge                time.Duration `default:"0s" help:"Age of the last good backup of an SQLite store from which /readyz has a note; 0 means none." placeholder:"TIME"`
	connectionFlags

	demo demoFlags
	// level is the level of the log at present.
	level slog.LevelVar
	// hangups receives each SIGHUP.
	hangups <-chan os.Signal
	// unknown has a warning for each environment variable that is not a setting.
	unknown []string
}

const (
	headerTimeout  = 10 * time.Second
	maxHeaderBytes = 64 << 10
	// minKeyLifetime keeps the number of keys small that are valid at once.
	minKeyLifetime = time.Hour
)

func (c *serveCommand) Run(ctx context.Context, parsed *kong.Context) error {
	log := c.logger()
	for _, text := range c.unknown {
		log.Warn(text)
	}
	err := c.serve(ctx, parsed, log)
	if exit.IsUsage(err) && c.LogFormat != "json" {
		return err // in the form of all settings that are refused
	}
	return logged(ctx, log, err)
}

func (c *serveCommand) serve(ctx context.Context, parsed *kong.Context, log *slog.Logger) error {
	c.log, c.tolerant, c.changes = log, !c.StrictSchemas, c.SchemaChanges
	c.opening = newOpening(storeName(c.Store), log)
	if err := c.check(parsed); err != nil {
		return err
	}
	certificate, err := c.certificate()
	if err != nil {
		return err
	}
	// Listen before the store is created and the password printed, which happens only
	// once, in case the address is in use.
	listener, err := listenAt("--addr", c.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	private, err := c.listenPrivately()
	if err != nil {
		return err
	}
	if private != nil {
		defer private.Close()
	}
	c.serving = serverName(listener.Addr())
	c.opening.url = c.scheme() + "://" + listener.Addr().String()
	var watcher *folder.Watcher
	if c.Schemas != "" { // watch before reading, so that no change is missed
		if watcher, err = folder.Watch(c.Schemas, log); err != nil {
			return fmt.Errorf("the folder %s cannot be watched: %w", c.Schemas, err)
		}
		defer watcher.Close()
	}
	memory := c.memory()
	options := c.options(log)
	options.Memory, options.Log, options.Meter = memory.Budget, log, rest.NewMeter()
	c.connectionFlags.set(&options, certificate)
	front, err := marquee.Front(options, c.opening.String)
	if err != nil {
		return err
	}
	program := metrics.Program{Version: options.Version, Application: cmp.Or(c.program.application().Name, none)}
	if certificate != nil {
		program.Expires = certificate.Expires
	}
	measured := metrics.New(program, options.Meter, front, sqlitePath(c.Store) == "")
	if private != nil {
		defer c.servePrivately(private, measured, log).Close()
	}
	server := c.newServer(log)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(front.Listen(server, listener)) }()
	defer server.Close()
	s, generated, err := c.start(ctx, options)
	if err != nil {
		return err
	}
	defer s.close()
	s.expires = program.Expires
	if s.backups.age = c.BackupAge; sqlitePath(c.Store) != "" {
		if err := s.loadLastBackup(ctx); err != nil {
			return err
		}
	}
	defer c.followSets(ctx, s, log)() // which ends last, as each reload notes its set
	defer c.followSchemas(ctx, s, watcher, log)()
	defer c.followKey(ctx, s, log)()
	defer followCertificate(ctx, certificate, log)()
	s.Start()
	memory.Set(0)
	go memory.Follow(ctx, s.MemoryUsed)
	operator := c.serveOperator(s, log)
	defer operator.Close()
	measured.Serve(s.Server, s.state)
	front.Forward(s)
	c.announce(ctx, s, generated, memory.Attributes())
	return c.await(ctx, s, server, operator, ended)
}

// start opens the store, and fills it if it is empty. It returns the generated password,
// if any.
func (c *serveCommand) start(ctx context.Context, options marquee.Options) (s *service, generated string, err error) {
	if s, err = c.use(ctx, false, options); err != nil {
		return nil, "", err
	}
	if err = c.unservedFlags.check(ctx, s); err == nil {
		c.opening.Step("creating the first network and user")
		generated, err = c.firstStart(ctx, s)
	}
	if err != nil {
		return nil, "", errors.Join(err, s.close())
	}
	return s, generated, nil
}

// announce logs that the service listens, and greets whoever tries it.
func (c *serveCommand) announce(ctx context.Context, s *service, generated string, attributes []any) {
	c.log.Info("listening", append([]any{slog.String("url", c.opening.url), slog.Int("types", len(s.Engine().Registry().Types())),
		slog.String("version", programVersion(c.program.Version))}, attributes...)...)
	if c.demo.Demo {
		c.greet(c.opening.url, generated)
		if generated == "" && c.BootstrapPassword == "" {
			c.printReset(ctx, s)
		}
	}
}

// memory returns the memory that the process may use.
func (c *serveCommand) memory() limits.Memory {
	memory := limits.New(c.MemoryBudget, os.Getenv("GOMEMLIMIT"))
	if c.MemoryBudget == 0 && sqlitePath(c.Store) != "" {
		memory = memory.BesideCaches()
	}
	memory.AddHeadroom()
	return memory
}

// listenAt listens at an address that a flag names.
func listenAt(flag, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	var wrong *net.AddrError
	switch {
	case errors.As(err, &wrong):
		return nil, exit.Usagef("%s must be a host and a port, such as 127.0.0.1:8080 or :8080, not %q", flag, address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen at %s: %w", address, err)
	}
	return listener, nil
}

func (c *serveCommand) options(log *slog.Logger) marquee.Options {
	lifetimes := auth.DefaultLifetimes
	lifetimes.Reuse, lifetimes.Key = c.RefreshReuseInterval, c.SigningKeyLifetime
	return marquee.Options{
		Lifetimes:          lifetimes,
		Interval:           c.ClockInterval,
		SignIns:            password.Limits{Name: c.MaxFailedSignIns, Address: c.MaxFailedFromAddress, Window: c.FailedSignInWindow},
		MaxSessions:        c.MaxSessions,
		Networks:           rights.NetworkLimits{Created: c.MaxCreatedNetworks, Granted: c.MaxGrantedNetworks},
		RequestTimeout:     c.RequestTimeout,
		Slow:               c.Slow,
		Spool:              c.spool(log),
		Version:            programVersion(c.program.Version),
		Connections:        c.connections(log),
		PublicURL:          string(c.PublicURL),
		NoConsole:          c.Console == "off",
		AddressConnections: c.MaxConnectionsPerAddress,
		HistoryDays:        c.HistoryDays,
		Streams:            c.MaxStreams,
	}
}

// followSchemas reloads the schemas when the folder changes and at each SIGHUP, until
// end is called, which waits for a reload in progress.
func (c *serveCommand) followSchemas(ctx context.Context, s *service, watcher *folder.Watcher, log *slog.Logger) (end func()) {
	return background(ctx, func(ctx context.Context) {
		if watcher != nil {
			watcher.Follow(ctx, c.hangups, s.pending, func(again bool) bool {
				return s.reload(ctx, &c.storeFlags, &c.unservedFlags, log, again)
			})
			return
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-c.hangups:
				log.Info("SIGHUP was ignored: without --schemas there are no files to read again")
			}
		}
	})
}

// background runs a function until its context ends, or end is called, which waits for the
// function.
func background(ctx context.Context, run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { run(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// spool returns where temporary files are kept. A folder that is not writable is only
// logged, because it affects nothing but large bodies.
func (c *serveCommand) spool(log *slog.Logger) *spool.Spool {
	s := spool.New("", c.SpoolBudget)
	where := []any{slog.String("folder", s.Dir()), slog.Int64("budget", s.Budget())}
	if n := s.Sweep(); n > 0 {
		log.Info("temporary files of an earlier process were removed", append(where, slog.Int("files", n))...)
	}
	if err := s.Check(); err != nil {
		log.Warn("temporary files cannot be written, and large bodies are refused: make room, or set TMPDIR to another folder", append(where, slog.String("cause", err.Error()))...)
	} else if s.InMemory() {
		log.Info("temporary files are in memory: to keep them on a disk, set TMPDIR to a folder there", where...)
	}
	return s
}

// connections returns the number of open connections that the limit of open files
// leaves room for. A quarter of it is for the store and temporary files.
func (c *serveCommand) connections(log *slog.Logger) int {
	limit, known := limits.MaxOpenFiles()
	if fit := limit - limit/4; known && c.MaxConnections > fit {
		log.Warn("the limit of open files (ulimit -n) leaves room for fewer connections than --max-connections; raise it, or lower the setting",
			slog.Int("openFiles", limit), slog.Int("maxConnections", c.MaxConnections), slog.Int("used", fit))
		return fit
	}
	return c.MaxConnections
}

// headerTimeout returns how long reading the headers of a request may take, even if
// ReadTimeout is 0 and sets no limit.
func (c *serveCommand) headerTimeout() time.Duration {
	if c.ReadTimeout > 0 {
		return min(headerTimeout, c.ReadTimeout)
	}
	return headerTimeout
}

func (c *serveCommand) logger() *slog.Logger {
	c.level.Set(levelOf(c.LogLevel))
	return newLogger(c.LogFormat, &c.level)
}

// firstStart fills an empty store, and returns the generated password, if any.
func (c *serveCommand) firstStart(ctx context.Context, s *service) (generated string, err error) {
	empty, err := s.Empty(ctx)
	if err != nil {
		return "", err
	}
	if !empty {
		if c.demo.Demo {
			fmt.Println("The store is not empty, so --demo adds nothing to it.")
		}
		return "", nil
	}
	var demo func(marquee.DemoOptions) ([]marquee.DemoStep, error)
	if c.demo.Demo {
		demo = s.application.Demo
	}
	generated, err = s.bootstrap(ctx, c.bootstrapFlags, demo)
	if errors.Is(err, errMadeMeanwhile) {
		fmt.Println("Note: " + err.Error() + ".")
		return "", nil
	}
	return generated, err
}

// newServer returns a server with the time limits of requests.
func (c *serveCommand) newServer(log *slog.Logger) *http.Server {
	return &http.Server{ReadHeaderTimeout: c.headerTimeout(), ReadTimeout: c.ReadTimeout,
		WriteTimeout: c.WriteTimeout, IdleTimeout: c.IdleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), DisableGeneralOptionsHandler: true}
}

// await returns the error of the server, or finishes the requests in progress when the
// context ends. /readyz reports the shutdown before the server stops accepting
// connections, unless its cause is an interrupt from a terminal, where nobody has a load
// balancer.
func (c *serveCommand) await(ctx context.Context, s *service, server, operator *http.Server, ended <-chan error) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	c.log.Info("shutting down")
	if context.Cause(ctx) != error(exit.Interruption(syscall.SIGINT)) {
		<-time.After(c.DrainDelay)
	}
	within, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	err := errors.Join(operator.Shutdown(within), server.Shutdown(within))
	if errors.Is(err, context.DeadlineExceeded) {
		err = exit.WithStatus(errors.New("requests were still in progress at the end of the shutdown timeout"), exit.Failed)
	}
	if err == nil {
		c.log.Info("stopped")
	}
	return err
}
