package integration

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadyWithFullDisk: answers report that the disk is full, reads continue,
// and so do writes when there is space again.
func TestReadyWithFullDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=16m"); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	p := procServe(t, "sqlite:"+filepath.Join(folder, "marquee.db"))
	p.signIn("admin", procPassword)
	p.awaitReady(http.StatusOK)
	filler := filepath.Join(folder, "filler")
	if err := os.WriteFile(filler, make([]byte, 32<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	procWants(t, p.awaitReady(http.StatusServiceUnavailable), "error.store.full")
	body := []byte(`{"name": "N", "html": "` + strings.Repeat("x", 500<<10) + `"}`)
	a, err := p.send(http.MethodPost, "/api/v1/layouts/a?context=main", nil, body)
	if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Fatal(err, a)
	}
	procWants(t, string(a.body), "error.store.full")
	p.ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.awaitReady(http.StatusOK)
	if a, err := p.send(http.MethodPost, "/api/v1/layouts/a?context=main", nil, body); err != nil || a.status != http.StatusCreated {
		t.Error(err, a)
	}
	p.stop()
}
