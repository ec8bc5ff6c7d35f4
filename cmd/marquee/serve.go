package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"marquee/engine"
	"marquee/engine/message"
	"marquee/engine/rest"
	"marquee/resources"
	"marquee/resources/asset"
)

// serveCommand is marquee serve.
type serveCommand struct {
	storeFlags
	bootstrapFlags
	embeddingsFlags
	Addr            string        `default:"127.0.0.1:8080" help:"Address to listen at."`
	Demo            bool          `help:"Load a small data set into an empty store."`
	LogFormat       string        `enum:"json,text" default:"text" help:"json or text."`
	LogLevel        slog.Level    `default:"info" help:"debug, info, warn or error."`
	RequestTimeout  time.Duration `default:"30s" help:"How long a request may take."`
	ReadTimeout     time.Duration `default:"60s" help:"How long the reading of a request may take."`
	WriteTimeout    time.Duration `default:"120s" help:"How long a request and its answer may take."`
	IdleTimeout     time.Duration `default:"120s" help:"How long an idle connection is kept."`
	ClockInterval   time.Duration `default:"10s" help:"How often the service looks for what time has changed, such as end dates that have passed."`
	CDNURL          *url.URL      `name:"cdn-url" help:"URL from which assets are delivered, such as that of a CDN before this service; without it, their paths here are told." placeholder:"URL"`
	MaxAssetSize    int64         `default:"20971520" help:"Largest file of an asset, in bytes."`
	DrainDelay      time.Duration `default:"0s" help:"How long to go on at the end with /readyz answering 503, until load balancers have seen it."`
	ShutdownTimeout time.Duration `default:"60s" help:"How long requests under way may take at the end."`
}

const (
	headerTimeout  = 10 * time.Second
	maxHeaderBytes = 64 << 10
	// readyTimeout is less than what load balancers wait for /readyz.
	readyTimeout = 3 * time.Second
)

func (c *serveCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := c.logger()
	if c.ClockInterval <= 0 {
		return errors.New("--clock-interval must be more than nothing")
	}
	if err := c.checkAssets(); err != nil {
		return err
	}
	var folder *watcher
	if c.Schemas != "" { // watched before it is read, so that no change is missed
		var err error
		if folder, err = newWatcher(c.Schemas, log); err != nil {
			return fmt.Errorf("the folder %s cannot be watched: %w", c.Schemas, err)
		}
		defer folder.close()
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := c.firstStart(ctx, s); err != nil {
		return err
	}
	if folder != nil {
		go folder.follow(ctx, func() { s.reload(ctx, &c.storeFlags, log) })
	}
	c.serveAssets(s.resources.Assets)
	if err := c.embeddingsFlags.use(s.resources.Articles); err != nil {
		return err
	}
	defer s.resources.Articles.Start(s.engine, log)()
	defer c.keepTime(ctx, s, log)()
	return c.listen(ctx, s, log)
}

// checkAssets refuses settings that assets cannot be served with.
func (c *serveCommand) checkAssets() error {
	if c.MaxAssetSize < 1 {
		return errors.New("--max-asset-size must be at least 1")
	}
	if at := c.CDNURL; at != nil && (at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "") {
		return errors.New("--cdn-url must be an http or https URL, without a user, parameters or a fragment")
	}
	return nil
}

func (c *serveCommand) serveAssets(rules *asset.Rules) {
	rules.MaxBytes = c.MaxAssetSize
	if c.CDNURL != nil {
		rules.CDN = strings.TrimRight(c.CDNURL.String(), "/")
	}
}

// passEnd is how long the end waits for a pass over what time has changed: one
// that is left does as much as one that is killed.
const passEnd = time.Second

// keepTime looks for what time has changed, until the function that it returns
// is called.
func (c *serveCommand) keepTime(ctx context.Context, s *service, log *slog.Logger) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.resources.Run(ctx, s.engine, c.ClockInterval, log)
	}()
	return func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(passEnd):
		}
	}
}

// headerTimeout is how long the reading of a request's headers may take; 0 as
// ReadTimeout sets no limit to the whole.
func (c *serveCommand) headerTimeout() time.Duration {
	if c.ReadTimeout > 0 {
		return min(headerTimeout, c.ReadTimeout)
	}
	return headerTimeout
}

func (c *serveCommand) logger() *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// firstStart fills an empty store.
func (c *serveCommand) firstStart(ctx context.Context, s *service) error {
	empty, err := s.empty(ctx)
	if err != nil || !empty {
		return err
	}
	var more []engine.Operation
	if c.Demo {
		if more, err = resources.Demo(s.engine.Registry()); err != nil {
			return err
		}
	}
	err = s.bootstrap(ctx, c.bootstrapFlags, more)
	if errors.Is(err, errMadeMeanwhile) {
		fmt.Println("But " + err.Error() + ".")
		return nil
	}
	return err
}

// listen serves until the context ends, and then finishes every request that
// was accepted. A server that shuts down takes no new ones, so that /readyz
// can tell of it only before.
func (c *serveCommand) listen(ctx context.Context, s *service, log *slog.Logger) error {
	var draining atomic.Bool
	config := rest.Config{Engine: s.engine, Auth: s.auth, Log: log, Deadline: c.RequestTimeout,
		Ready: func(ctx context.Context) error {
			if draining.Load() {
				return message.ShuttingDown.Error(nil)
			}
			ctx, cancel := context.WithTimeout(ctx, readyTimeout)
			defer cancel()
			return s.store.Check(ctx)
		},
		Notes: s.notes,
	}
	s.resources.Serve(&config)
	handler, err := rest.New(config)
	if err != nil {
		return err
	}
	s.auth.Routes(handler.Router())
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen at %s: %w", c.Addr, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: c.headerTimeout(), ReadTimeout: c.ReadTimeout,
		WriteTimeout: c.WriteTimeout, IdleTimeout: c.IdleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.Info("listening", slog.String("url", "http://"+listener.Addr().String()), slog.Int("types", len(s.engine.Registry().Types())))
	if c.Demo {
		c.greet("http://" + listener.Addr().String())
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	signal.Reset(syscall.SIGINT, syscall.SIGTERM) // a second one does not wait
	draining.Store(true)
	log.Info("shutting down")
	if c.DrainDelay > 0 {
		<-time.After(c.DrainDelay)
	}
	within, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	err = server.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New("requests were still under way at the end of the shutdown time")
	}
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// greet tells a newcomer what to try, as lines for a shell. The password is not
// among them: it is shown where it is made, and nowhere else.
func (c *serveCommand) greet(address string) {
	fmt.Fprintf(os.Stdout, `
Marquee is running.
  URL       %[1]s
  network   %[2]s
  user      %[3]s
  password  as it was printed or given at the first start; for the lines below: MARQUEE_BOOTSTRAP_PASSWORD='...'

Try:
  PASSWORD=${MARQUEE_BOOTSTRAP_PASSWORD:?is the password of the first start}
  TOKEN=$(curl -s %[1]s/api/authenticate -d grant_type=password -d scope=ng_api --data-urlencode username=%[4]s --data-urlencode "password=$PASSWORD" | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
  curl -s -H "Authorization: Bearer $TOKEN" %[5]s

`, address, c.BootstrapNetwork, c.BootstrapUsername, shellQuote(c.BootstrapUsername),
		shellQuote(address+"/api/v1/lineitems?context="+url.QueryEscape(c.BootstrapNetwork)+"&pageSize=2"))
}

// shellQuote makes one word of a text for a POSIX shell.
func shellQuote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
