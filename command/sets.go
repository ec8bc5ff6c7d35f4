package command

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
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

// servedFiles are the files of the set with a digest, nil for one without a folder.
type servedFiles struct {
	digest string
	files  *folder.Recorder
}

// keep notes in the store, under its number, the set of schemas that is served from now on,
// and that this server serves it. An error is only logged, and followSets tries again.
func (s *service) keep(ctx context.Context, log *slog.Logger, files *folder.Recorder) {
	if s.register == nil {
		return
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if number := s.register.Number(s.files.digest); number > 0 {
		s.changes.from = number
	}
	was := s.files.digest
	s.files = servedFiles{s.Engine().Registry().Digest(), files}
	if err := s.noteSet(ctx, log); err != nil {
		log.Warn("the schemas are served, but that could not be saved in the store yet; retrying", slog.String("cause", err.Error()))
	}
	s.changes.warn(log, s.register.Number(s.files.digest))
	if was != s.files.digest {
		s.counting.stop()
	}
	if s.changes.before != nil {
		s.countConcerned(log, s.changes.before)
	}
	s.changes = setChanges{}
}

// keepAgain notes a set that could not be noted.
func (s *service) keepAgain(ctx context.Context, log *slog.Logger) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.register.Number(s.files.digest) == 0 {
		_ = s.noteSet(ctx, log) // the log has an error already
	}
}

// noteSet notes the set that is served.
func (s *service) noteSet(ctx context.Context, log *slog.Logger) error {
	before := s.register.Number(s.files.digest)
	sets, err := s.register.Keep(ctx, s.files.digest, s.files.files)
	if sets.Sets == nil {
		return err
	}
	if err != nil {
		log.Warn("the schemas are served, but could not be saved as the fallback for the next start", slog.String("cause", err.Error()))
	}
	if number := s.register.Number(s.files.digest); number != before {
		log.Info("serving a set of schemas", slog.Int64("set", number), slog.String("digest", s.files.digest))
	}
	s.compareServers(log, sets)
	return nil
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
	for _, set := range slices.Sorted(maps.Keys(counts)) {
		each = append(each, fmt.Sprintf("set %d on %d", set, counts[set]))
	}
	return "the servers of the store have served different sets since " + sets.Differ.Format(time.RFC3339) + ": " + strings.Join(each, ", ")
}

// leaveTime bounds the attempt to note that the server ends.
const leaveTime = 2 * time.Second

// followSets notes the set that is served since the start, shows other servers of the store
// that this one runs, and follows which sets they serve, until end is called.
func (c *serveCommand) followSets(ctx context.Context, s *service, log *slog.Logger) (end func()) {
	s.keep(ctx, log, s.files.files)
	stop := background(ctx, func(following context.Context) {
		ticks := time.NewTicker(min(c.ClockInterval, folder.BeatInterval))
		defer ticks.Stop()
		for {
			select {
			case <-following.Done():
				return
			case <-ticks.C:
			}
			s.keepAgain(following, log)
			// An error is one of the store, which /readyz shows.
			if sets, err := s.register.Beat(following); err == nil {
				s.compareServers(log, sets)
			}
		}
	})
	return func() {
		stop()
		s.counting.stop()
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		_ = s.register.Leave(leaving) // without it, others notice after a while
	}
}
