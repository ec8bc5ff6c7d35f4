package program

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/process"
)

// smallDisk gives a folder with a file system of its own, of a size as mount(8) takes it.
func smallDisk(t *testing.T, size string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+size); errors.Is(err, syscall.EPERM) {
		t.Skip("a small file system is mounted: run the test as root")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// TestReadyWithFullDisk: answers report that the disk is full, reads continue,
// and so do writes when there is space again.
func TestReadyWithFullDisk(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	folder := smallDisk(t, "16m")
	p := process.Serve(t, "sqlite:"+filepath.Join(folder, "marquee.db"))
	p.SignIn("admin", process.Password)
	p.AwaitReady(http.StatusOK)
	filler := filepath.Join(folder, "filler")
	if err := os.WriteFile(filler, make([]byte, 32<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	process.Wants(t, p.AwaitReady(http.StatusServiceUnavailable), "error.store.full")
	body := []byte(`{"name": "N", "html": "` + strings.Repeat("x", 500<<10) + `"}`)
	a, err := p.Send(http.MethodPost, "/api/v1/layouts/a?context=main", nil, body)
	if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
		t.Fatal(err, a)
	}
	process.Wants(t, string(a.Body), "error.store.full")
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.AwaitReady(http.StatusOK)
	if a, err := p.Send(http.MethodPost, "/api/v1/layouts/a?context=main", nil, body); err != nil || a.Status != http.StatusCreated {
		t.Error(err, a)
	}
	p.Stop()
}
