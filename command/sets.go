package command

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"marquee/engine/folder"
)

// serverName is the name of the server that listens at an address: host:port.
func serverName(address net.Addr) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	_, port, _ := net.SplitHostPort(address.String())
	return net.JoinHostPort(host, port)
}

// keep stores the set of schemas that is served, under its number, and that this server
// serves it. An error is only logged.
func (s *service) keep(ctx context.Context, f *storeFlags, set *folder.Recorder) {
	if s.register == nil {
		return
	}
	digest := s.Engine().Registry().Digest()
	before := s.register.Number(digest)
	sets, err := s.register.Keep(ctx, digest, set)
	if err != nil {
		f.logger().Warn("the schemas are served, but could not be saved as the fallback for the next start", slog.String("cause", err.Error()))
	}
	if number := s.register.Number(digest); number != before {
		f.logger().Info("serving a set of schemas", slog.Int64("set", number), slog.String("digest", digest))
	}
	s.compareServers(f.logger(), sets)
}

// compareServers logs when servers of the store begin or cease to serve different sets.
func (s *service) compareServers(log *slog.Logger, sets folder.Sets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.sets.Differ
	s.sets = sets
	switch {
	case was.IsZero() && !sets.Differ.IsZero():
		var serve []string
		for _, server := range sets.Servers {
			serve = append(serve, fmt.Sprintf("%s serves set %d", server.Name, server.Set))
		}
		log.Warn("the servers of the store serve different sets of schemas", slog.Time("since", sets.Differ), slog.String("servers", strings.Join(serve, ", ")))
	case !was.IsZero() && sets.Differ.IsZero():
		log.Info("all servers of the store serve the same schemas again", slog.Int64("set", s.register.Number(s.Engine().Registry().Digest())))
	}
}

// noteSets says for /readyz how many servers serve each set, "" if all serve the same.
// Everybody can read it, so that it has no names of servers.
func noteSets(sets folder.Sets) string {
	if sets.Differ.IsZero() {
		return ""
	}
	counts := map[int64]int{}
	for _, server := range sets.Servers {
		counts[server.Set]++
	}
	var each []string
	for set, n := range counts {
		each = append(each, fmt.Sprintf("set %d on %d", set, n))
	}
	slices.Sort(each)
	return "the servers of the store serve different sets since " + sets.Differ.Format(time.RFC3339) + ": " + strings.Join(each, ", ")
}

// leaveTime bounds the attempt to note that the server ends.
const leaveTime = 2 * time.Second

// followSets shows other servers of the store that this one runs, and follows which sets
// they serve, until end is called.
func (c *serveCommand) followSets(ctx context.Context, s *service, log *slog.Logger) (end func()) {
	following, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(c.ClockInterval)
		defer ticks.Stop()
		for {
			select {
			case <-following.Done():
				return
			case <-ticks.C:
			}
			// An error is one of the store, which /readyz shows.
			if sets, err := s.register.Beat(following); err == nil {
				s.compareServers(log, sets)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		_ = s.register.Leave(leaving) // without it, others notice after a while
	}
}
