package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"marquee/engine/store"
)

// firstStore creates a store of version 1.
func firstStore(t *testing.T, options Options) {
	t.Helper()
	c, err := openWriter(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.exec(fmt.Sprintf("PRAGMA journal_mode=WAL; BEGIN; %s %s PRAGMA application_id=%d; PRAGMA user_version=1; COMMIT",
		migrations[0].script, firstThings, applicationID)); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

// versionOf returns the version of a closed store.
func versionOf(t *testing.T, options Options) int64 {
	t.Helper()
	c, err := openWriter(options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	version, err := c.pragma("user_version")
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// TestUpgradeKeepsACopy checks that the store of the version before is kept beside an
// upgraded one, for the owner alone, and that the command goes back to it.
func TestUpgradeKeepsACopy(t *testing.T) {
	var kept, back string
	d := newDisk(t, 1)
	options := d.options()
	options.Copied = func(copy, command string) { kept, back = copy, command }
	var log bytes.Buffer
	options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	firstStore(t, options)
	for range 2 { // the second time, there is a copy already
		kept = ""
		s := openTest(t, options)
		ensureThings(t, s)
		if n := stored(t, s); n != 1 {
			t.Errorf("%d stored", n)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), back) {
			t.Errorf("the command that goes back is not in the log: %s", &log)
		}
		log.Reset()
		if want := options.Path + ".version-1"; kept != want {
			t.Fatalf("the copy is %q, not %q", kept, want)
		}
		info, err := os.Stat(kept)
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("the copy: %v, %v", info.Mode(), err)
		}
		if version := versionOf(t, options); version != int64(len(migrations)) {
			t.Errorf("version %d after the upgrade", version)
		}
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", back).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", back, err, out)
		}
		if version := versionOf(t, options); version != 1 {
			t.Errorf("version %d after going back", version)
		}
	}
	kept = ""
	options.NoUpgradeCopy = true
	s := openTest(t, options)
	if err := s.Close(); err != nil || kept != "" {
		t.Errorf("a copy that nobody wanted: %q, %v", kept, err)
	}
}

// interrupting is a store.Progress that cancels a context when a step begins.
type interrupting struct {
	step   string
	cancel func()
}

func (i interrupting) Step(text string) {
	if strings.HasPrefix(text, i.step) {
		i.cancel()
	}
}

func (i interrupting) Advance(int) {}

// TestUpgradeIsInterrupted checks that a copy and an upgrade end with their context, and
// that the store is as it was.
func TestUpgradeIsInterrupted(t *testing.T) {
	d := newDisk(t, 1)
	options := d.options()
	firstStore(t, options)
	for _, step := range []string{"copying the store", "upgrading the store"} {
		options.NoUpgradeCopy = step == "upgrading the store"
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the operator stops the service")
		s, err := Open(store.WithProgress(ctx, interrupting{step, func() { cancel(cause) }}), options)
		if err == nil {
			s.Close()
			t.Fatal("opened")
		}
		if code, _ := store.CodeOf(err); code != store.CodeDeadline || !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		if version := versionOf(t, options); version != 1 {
			t.Errorf("version %d", version)
		}
		entries, err := os.ReadDir(d.folder)
		if err != nil || len(entries) != 1 { // the store
			t.Errorf("left are %v %v", entries, err)
		}
	}
}

// TestUpgradeOnAFullDisk checks that a store of which no copy can be made, although the
// disk reports free space, is not upgraded, and leaves nothing behind.
func TestUpgradeOnAFullDisk(t *testing.T) {
	d := newDisk(t, 1)
	options := d.options()
	firstStore(t, options)
	d.fail(full, 0)
	s, err := Open(t.Context(), options)
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	notUsableError(t, err, "cannot be copied", "free space", "--no-upgrade-backup", options.Path)
	d.fail(nothing, 0)
	if version := versionOf(t, options); version != 1 {
		t.Errorf("version %d", version)
	}
	entries, err := os.ReadDir(d.folder)
	if err != nil || len(entries) != 1 { // the store
		t.Errorf("left are %v %v", entries, err)
	}
}
