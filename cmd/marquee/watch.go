package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long the folder must be quiet before it is read: an editor
// writes a file in several steps.
const settle = 200 * time.Millisecond

// watcher tells when the files of a folder of schemas have changed.
type watcher struct {
	*fsnotify.Watcher
	common string
	log    *slog.Logger
}

func newWatcher(folder string, log *slog.Logger) (*watcher, error) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{Watcher: notify, common: filepath.Join(folder, "common"), log: log}
	if err := notify.Add(folder); err != nil {
		return nil, errors.Join(err, notify.Close())
	}
	w.addCommon()
	return w, nil
}

// addCommon watches the folder of shared definitions, when there is one.
func (w *watcher) addCommon() {
	if info, err := os.Stat(w.common); err == nil && info.IsDir() {
		if err := w.Add(w.common); err != nil {
			w.log.Warn("the folder cannot be watched", slog.String("folder", w.common), slog.String("cause", err.Error()))
		}
	}
}

// follow calls changed whenever the folder has changed and is quiet again.
func (w *watcher) follow(ctx context.Context, changed func()) {
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Events:
			quiet.Reset(settle)
		case err := <-w.Errors:
			w.log.Warn("the folder of schemas cannot be watched", slog.String("cause", err.Error()))
			quiet.Reset(settle)
		case <-quiet.C:
			w.addCommon()
			changed()
		}
	}
}

func (w *watcher) close() { w.Watcher.Close() }

// reload reads the schemas anew and serves them when they are right. A set
// that is wrong is refused whole, and the one before stays.
func (s *service) reload(ctx context.Context, f *storeFlags, log *slog.Logger) {
	registry, err := f.load()
	if err == nil {
		err = s.engine.Swap(ctx, registry)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.reason = err.Error()
		log.Error("the schemas were refused; those before stay", slog.String("reason", s.reason))
		return
	}
	s.reason = ""
	log.Info("schemas loaded", slog.Int("types", len(registry.Types())))
}

// notes says what /readyz tells besides.
func (s *service) notes() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == "" {
		return nil
	}
	return map[string]string{"schemas": "refused, those before stay: " + s.reason}
}
