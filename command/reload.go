package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"marquee"
	"marquee/command/metrics"
	"marquee/engine/folder"
	"marquee/engine/schema"
	"marquee/engine/store"
)

// reload reads the schemas again and serves them if they have no mistakes. A set with
// a mistake is refused as a whole, and the previous one remains, as it does while the
// folder does not exist. It reports whether to try again, because of the store or of the
// objects in it. A reload that tries again does not log what the log has already.
func (s *service) reload(ctx context.Context, f *storeFlags, unserved *unservedFlags, log *slog.Logger, again bool) (pending bool) {
	registry, set, err := f.load(&s.application)
	if err == nil {
		err = s.compareSets(ctx, f, s.Store(), s.Engine().Registry(), registry)
	}
	if err == nil {
		err = s.Migrate(ctx, registry)
	}
	_, pending = store.CodeOf(err)
	served := registry != nil && s.Engine().Registry() == registry
	var left error
	if served {
		left = unserved.check(ctx, s)
		s.keep(ctx, log, set)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case served:
		s.reloads.Served++
	case pending:
		s.reloads.Failed++
	case err != nil:
		s.reloads.Refused++
	}
	switch {
	case served && err != nil: // the values of new secrets are sealed after the set is served
		s.note = "served, but not all stored secrets are encrypted yet; retrying"
		log.Warn("schemas loaded, but not all stored secrets are encrypted yet; retrying", slog.String("cause", err.Error()))
		pending = true
	case pending:
		s.note = "not served yet, the previous ones remain: the store is not ready (see the log); retrying"
		log.Warn("the schemas cannot be served yet; the previous ones remain; retrying", slog.String("cause", err.Error()))
	case errors.Is(err, folder.ErrNotFound):
		s.note = "the folder " + filepath.Base(f.Schemas) + " does not exist; the last set is served"
		log.Error("the folder of schemas does not exist; the last set is served", slog.String("folder", f.Schemas))
	case err != nil:
		pending = passing(err)
		if s.since.IsZero() {
			s.since = time.Now()
		}
		s.note = "refused since " + s.since.UTC().Format(time.RFC3339) + ", the previous ones remain: " + seeLog
		if !again || s.refused != err.Error() {
			log.Error("the schemas were refused; the previous ones remain", slog.String("reason", err.Error()))
		}
		s.refused = err.Error()
	default:
		s.note, s.since = "", time.Time{}
		log.Info("schemas loaded", slog.Int("types", len(registry.Types())))
		if left != nil {
			s.note = "served, but a start with these would be refused, as the store has objects of other types: " + seeLog
			log.Warn("the new set of schemas leaves out types that the store has objects of", slog.String("reason", left.Error()))
		}
	}
	return pending
}

// state returns what is served at present, what became of reloads, and of backups.
func (s *service) state() metrics.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := metrics.State{Reloads: s.reloads, Refused: !s.since.IsZero(), LastBackup: s.lastBackup(), BackupAge: s.backups.age}
	if s.register != nil {
		now.Set = s.register.Number(s.Engine().Registry().Digest())
	}
	return now
}

// isRefusal reports whether an error lists mistakes in schemas, or changes that
// --schema-changes refuses.
func isRefusal(err error) bool {
	var problems schema.Problems
	var changes refusedChanges
	return errors.As(err, &problems) || errors.As(err, &changes)
}

// passing reports whether a refusal may pass by itself, because of stored objects.
func passing(err error) bool {
	var problems schema.Problems
	return errors.As(err, &problems) && problems.Passing()
}

// startWithKept serves the set that was accepted last in place of a refused one. The
// error is the refusal if no such set can be served.
func (s *service) startWithKept(ctx context.Context, f *storeFlags, options marquee.Options, refusal error) error {
	packed, accepted, err := folder.Packed(ctx, options.Store, 0)
	if err != nil || packed == nil {
		return errors.Join(refusal, err)
	}
	set, err := folder.Unpack(packed)
	if err != nil {
		return errors.Join(refusal, err)
	}
	s.files.files, s.changes, options.Accept = folder.Recorded(packed), setChanges{}, nil
	options.Types, err = s.application.Load(schema.Source{Name: "the set that was accepted last", FS: set})
	if err == nil {
		s.Server, err = marquee.Open(ctx, options)
	}
	if isRefusal(err) {
		return refusal // the mistakes that the user can correct
	}
	if err != nil {
		return err
	}
	when := accepted.Format(time.RFC3339)
	s.refused, s.pending, s.since = refusal.Error(), passing(refusal), time.Now()
	s.note = "refused since the start at " + s.since.UTC().Format(time.RFC3339) + "; the set that was accepted last, at " + when + ", is served: " + seeLog
	f.logger().Warn("the schemas were refused; the set that was accepted last is served", slog.String("accepted", when), slog.String("reason", refusal.Error()))
	return nil
}

// seeLog ends the notes on schemas. Anybody can read them, and not know each type and property.
const seeLog = "the log has the details"

// expiresSoon is how long before it expires /readyz notes the certificate.
const expiresSoon = 7 * 24 * time.Hour

// notes are what /readyz adds to its answer.
func (s *service) notes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := map[string]string{}
	if s.note != "" {
		notes["schemas"] = s.note
	}
	if outdated := s.Engine().Outdated(); len(outdated) > 0 {
		notes["outdated"] = fmt.Sprintf("another server serves newer schemas, or is of a newer version: objects of some types can be read here, but not written, or not with all of their properties: %d", len(outdated))
	}
	if f := s.Engine().Following(); f.Changed > 0 {
		notes["following"] = fmt.Sprintf("changed objects whose dependants have not all followed yet: %d, the oldest for %s", f.Changed, max(0, time.Since(f.Since)).Round(time.Second))
	}
	if note := s.resealing.note(); note != "" {
		notes["secrets"] = note
	}
	if note := s.counting.note(); note != "" {
		notes["stored"] = note
	}
	if note := noteSets(s.sets); note != "" {
		notes["sets"] = note
	}
	if s.expires != nil && time.Until(s.expires()) < expiresSoon {
		notes["certificate"] = fmt.Sprintf("the certificate expires, or has expired, at %s: replace it", s.expires().UTC().Format(time.RFC3339))
	}
	if note := s.noteBackup(time.Now()); note != "" {
		notes["backup"] = note
	}
	if noted, ok := s.Store().(interface{ Note() string }); ok && noted.Note() != "" {
		notes["store"] = noted.Note()
	}
	return notes
}
