package folder

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is the time without changes after which the folder is read: an editor
// writes a file in several steps.
const settle = 200 * time.Millisecond

// Watcher notices when the files of a folder of schemas change, and when the folder
// itself is replaced, deleted or created again.
type Watcher struct {
	notify *fsnotify.Watcher
	// path is the absolute path of the folder, target the path without symbolic links.
	path, target string
	// steps are the names on the path, whose folders are watched, as are the target
	// and its folder Common.
	steps   []string
	watched []string
	log     *slog.Logger
}

// Watch begins to watch a folder. Watch before reading the files, so that no change is
// missed. Close ends it.
func Watch(path string, log *slog.Logger) (*Watcher, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{notify: notify, path: path, log: log}
	if err := w.arm(); err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	return w, nil
}

// arm watches the folders on the path, again if the path changes meanwhile. The error
// is that of the folder itself.
func (w *Watcher) arm() error {
	for {
		for _, folder := range w.watched {
			w.notify.Remove(folder) // an error means that it was deleted
		}
		w.watched = nil
		w.target, w.steps = resolveLinks(w.path)
		for _, step := range w.steps {
			w.watch(filepath.Dir(step)) // an ancestor may be unreadable, or missing
		}
		err := w.watch(w.target)
		w.watch(filepath.Join(w.target, Common))
		if _, steps := resolveLinks(w.path); slices.Equal(steps, w.steps) {
			return err
		}
	}
}

func (w *Watcher) watch(folder string) error {
	if slices.Contains(w.watched, folder) {
		return nil
	}
	err := w.notify.Add(folder)
	if err == nil {
		w.watched = append(w.watched, folder)
	}
	return err
}

// concerns reports whether an event is about the folder or a file in it, and not about
// a sibling.
func (w *Watcher) concerns(event fsnotify.Event) bool {
	in := filepath.Dir(event.Name)
	return in == w.target || in == filepath.Join(w.target, Common) || slices.Contains(w.steps, event.Name)
}

// A set of schemas that could not be served because of the store, or of the objects in it,
// is tried again after firstRetry, and then after twice as long each time, up to lastRetry.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = time.Minute
)

// Follow calls reload whenever the folder has changed and is quiet again, after each
// signal, and once more later if reload returns true, or pending is true at the beginning;
// again reports whether nothing has happened since. It returns when ctx has ended and
// reload is not running.
func (w *Watcher) Follow(ctx context.Context, hangups <-chan os.Signal, pending bool, reload func(again bool) (pending bool)) {
	quiet, retry, again := time.NewTimer(firstRetry), 2*firstRetry, true
	if !pending {
		quiet.Stop()
	}
	happened := func(settle time.Duration) {
		retry, again = firstRetry, false
		quiet.Reset(settle)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-w.notify.Events:
			if w.concerns(event) {
				happened(settle)
			}
		case <-hangups:
			w.log.Info("SIGHUP: reading the schemas again")
			happened(0)
		case err := <-w.notify.Errors: // some events were lost
			w.log.Warn("the folder of schemas cannot be watched", slog.String("cause", err.Error()))
			happened(settle)
		case <-quiet.C:
			w.arm() // before the files are read, so that no change is missed
			if reload(again) {
				again = true
				quiet.Reset(retry)
				retry = min(2*retry, lastRetry)
			}
		}
	}
}

// Close stops watching.
func (w *Watcher) Close() error { return w.notify.Close() }
