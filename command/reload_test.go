package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"marquee/engine/folder"
	"marquee/engine/store"
)

// unready is a store that cannot be made ready for a registry some times.
type unready struct {
	store.Store
	times int
}

func (u *unready) EnsureCollections(ctx context.Context, collections []store.Collection) error {
	if u.times > 0 {
		u.times--
		return &store.Error{Code: store.CodeUnavailable, Text: "the store is away"}
	}
	return u.Store.EnsureCollections(ctx, collections)
}

// TestReloadIsTriedAgain serves a new set of schemas while the store is away:
// /readyz reports it, and the set is served once the store is back.
func TestReloadIsTriedAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	flags := &storeFlags{served: served{&Program{}}, MinPasswordLength: 12, Store: "sqlite:" + filepath.Join(t.TempDir(), "marquee.db"), Schemas: dir}
	s, err := flags.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.Engine().Store = &unready{s.Store(), 2}
	w, err := folder.Watch(dir, log)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	served := errors.New("served")
	var notes []string
	ended, end := context.WithCancelCause(ctx)
	go func() {
		text := `{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "x-resource": {"path": "things"}, "type": "object", "properties": {"name": {"type": "string"}}}`
		if err := os.WriteFile(filepath.Join(dir, "things.json"), []byte(text), 0o600); err != nil {
			end(err)
		}
	}()
	w.Follow(ended, nil, false, func(again bool) bool {
		pending := s.reload(ctx, flags, &unservedFlags{}, log, again)
		notes = append(notes, fmt.Sprint(s.notes()))
		if !pending {
			end(served)
		}
		return pending
	})
	if cause := context.Cause(ended); cause != served {
		t.Fatal(cause)
	}
	if _, found := s.Engine().Registry().Type("things"); !found || len(notes) != 3 || notes[2] != "map[]" {
		t.Errorf("served: %t, after %q", found, notes)
	}
	for _, note := range notes[:2] {
		if !strings.Contains(note, "not served yet, the previous ones remain: the store is not ready") {
			t.Errorf("the note is %s", note)
		}
	}
}
