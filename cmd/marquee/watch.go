package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"marquee/engine/store"
)

// settle is how long the folder must be quiet before it is read: an editor
// writes a file in several steps.
const settle = 200 * time.Millisecond

// watcher notices when the files of a folder of schemas change, and when the
// folder itself is exchanged, deleted, or made again.
type watcher struct {
	*fsnotify.Watcher
	// path is the absolute path of the folder, target is where it leads.
	path, target string
	// steps are the names that the path leads over. Their folders are watched,
	// as are the target and its folder common.
	steps   []string
	watched []string
	log     *slog.Logger
}

func newWatcher(path string, log *slog.Logger) (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{Watcher: notify, path: path, log: log}
	if err := w.arm(); err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	return w, nil
}

// arm watches what the path leads over now. It begins anew where the path was
// changed meanwhile. The error is that of the folder itself.
func (w *watcher) arm() error {
	for {
		for _, folder := range w.watched {
			w.Remove(folder) // one that was deleted is watched no longer
		}
		w.watched = nil
		w.target, w.steps = follow(w.path)
		for _, step := range w.steps {
			w.watch(filepath.Dir(step)) // an ancestor may be unreadable, or missing
		}
		err := w.watch(w.target)
		w.watch(filepath.Join(w.target, common))
		if _, steps := follow(w.path); slices.Equal(steps, w.steps) {
			return err
		}
	}
}

// common is the folder of shared definitions in a folder of schemas.
const common = "common"

func (w *watcher) watch(folder string) error {
	if slices.Contains(w.watched, folder) {
		return nil
	}
	err := w.Add(folder)
	if err == nil {
		w.watched = append(w.watched, folder)
	}
	return err
}

// concerns reports whether an event is about the folder or a file in it, and
// not about others that are beside it.
func (w *watcher) concerns(event fsnotify.Event) bool {
	in := filepath.Dir(event.Name)
	return in == w.target || in == filepath.Join(w.target, common) || slices.Contains(w.steps, event.Name)
}

// A set of schemas that the store could not be made ready for is tried again
// after firstRetry, and then after twice as long each time, up to lastRetry.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = time.Minute
)

// follow calls changed whenever the folder has changed and is quiet again, after
// each SIGHUP, and while changed asks for it. It returns when ctx has ended and
// changed is not running.
func (w *watcher) follow(ctx context.Context, hangups <-chan os.Signal, changed func() (again bool)) {
	quiet := time.NewTimer(settle)
	quiet.Stop()
	retry := firstRetry
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.Events:
			if w.concerns(event) {
				retry = firstRetry
				quiet.Reset(settle)
			}
		case <-hangups:
			w.log.Info("SIGHUP: the schemas are read again")
			retry = firstRetry
			quiet.Reset(0)
		case err := <-w.Errors: // some events were lost
			w.log.Warn("the folder of schemas cannot be watched", slog.String("cause", err.Error()))
			quiet.Reset(settle)
		case <-quiet.C:
			w.arm() // before the files are read, so that no change is missed
			if changed() {
				quiet.Reset(retry)
				retry = min(2*retry, lastRetry)
			}
		}
	}
}

func (w *watcher) close() { w.Watcher.Close() }

// reload reads the schemas anew and serves them when they are right. A set
// that is wrong is refused whole, and the one before stays; so it does while
// there is no folder. It reports whether the store was in the way, so that the
// same set may be served later.
func (s *service) reload(ctx context.Context, f *storeFlags, unserved *unservedFlags, log *slog.Logger) (again bool) {
	registry, set, err := f.load(s.application)
	if err == nil {
		err = s.Swap(ctx, registry)
	}
	_, again = store.CodeOf(err)
	served := registry != nil && s.Engine().Registry() == registry
	var left error
	if served {
		left = unserved.check(ctx, s)
		s.keep(ctx, f, set)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case served && err != nil: // the values of new secrets are sealed after the set is served
		s.note = "served, but stored secrets are not all encrypted yet; that is tried again"
		log.Warn("schemas loaded, but stored secrets are not all encrypted yet; that is tried again", slog.String("cause", err.Error()))
		again = true
	case again:
		s.note = "not served yet, those before stay: the store is in the way (the log says how), and they are tried again"
		log.Warn("the schemas cannot be served yet; those before stay, and they are tried again", slog.String("cause", err.Error()))
	case errors.Is(err, errFolderGone):
		s.note = "the folder " + filepath.Base(f.Schemas) + " does not exist; the last set is served"
		log.Error("the folder of schemas does not exist; the last set is served", slog.String("folder", f.Schemas))
	case err != nil:
		s.note = "refused, those before stay: " + withoutPaths(err.Error(), f.Schemas)
		log.Error("the schemas were refused; those before stay", slog.String("reason", err.Error()))
	default:
		s.note = ""
		log.Info("schemas loaded", slog.Int("types", len(registry.Types())))
		if left != nil {
			s.note = "served, but a start with these would be refused: " + left.Error()
			log.Warn("the new set of schemas leaves out types that the store has objects of", slog.String("reason", left.Error()))
		}
	}
	return again
}

// notes are what /readyz adds to its answer.
func (s *service) notes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := map[string]string{}
	if s.note != "" {
		notes["schemas"] = s.note
	}
	if outdated := s.Engine().Outdated(); len(outdated) > 0 {
		notes["outdated"] = "another server serves newer schemas of these types, or is of a newer version: they can be read here, and not written, or not all of their properties: " + strings.Join(outdated, ", ")
	}
	if f := s.Engine().Following(); f.Changed > 0 {
		notes["following"] = fmt.Sprintf("changed objects whose dependants have not all followed yet: %d, the oldest for %s", f.Changed, max(0, time.Since(f.Since)).Round(time.Second))
	}
	if noted, ok := s.Store().(interface{ Note() string }); ok && noted.Note() != "" {
		notes["store"] = noted.Note()
	}
	if len(notes) == 0 {
		return nil
	}
	return notes
}
