package program

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/faultydisk"
	"marquee/integration/process"
	"marquee/integration/service"
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
// and so do writes when there is space again, and a set of schemas that could not be served.
func TestReadyWithFullDisk(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	folder := smallDisk(t, "16m")
	dir := process.FolderOf(t, filepath.Join(t.TempDir(), "schemas"), "a")
	p, private := privately(t, "sqlite:"+filepath.Join(folder, "marquee.db"), "--schemas", dir)
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
	handbook(t, "Full disk").shows(p, private)
	savesElsewhere(t, "sqlite:"+filepath.Join(folder, "marquee.db"))
	process.Wants(t, process.Run(t, nil, "check", "--store", "sqlite:"+filepath.Join(folder, "marquee.db")), "nothing is wrong")
	process.File(t, filepath.Join(dir, "typeb.json"), process.Schema("typeb"))
	awaitMetric(p, private, `marquee_schema_reloads_total{result="failed"} > 0`)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.AwaitReady(http.StatusOK)
	awaitMetric(p, private, `marquee_schema_reloads_total{result="served"} > 0`)
	if a, err := p.Send(http.MethodPost, "/api/v1/layouts/a?context=main", nil, body); err != nil || a.Status != http.StatusCreated {
		t.Error(err, a)
	}
	p.Stop()
}

// TestReadyWithReadOnlyDisk: answers report that the store is unavailable, reads continue, and so
// do writes when the disk accepts them again.
func TestReadyWithReadOnlyDisk(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	store := service.NewSQLite(t)
	disk := faultydisk.New(t, filepath.Dir(service.SQLiteFile(store)))
	p := process.Launch(t, onDisk(disk, process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password},
		"serve", "--addr", "127.0.0.1:0", "--private-addr", "127.0.0.1:0", "--log-format", "json", "--store", store)))
	private := p.Private()
	p.Listens()
	p.SignIn("admin", process.Password)
	disk.Fail(faultydisk.Faults["read-only"])
	p.Ask(http.StatusServiceUnavailable, http.MethodPost, "/api/v1/tiers/a?context=main", `{"name": "A"}`)
	handbook(t, "Read-only disk").shows(p, private)
	savesElsewhere(t, store)
	process.Wants(t, process.Run(t, nil, "check", "--store", store), "nothing is wrong")
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/networks", "")
	disk.Fail(nil)
	p.AwaitReady(http.StatusOK)
	p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/tiers/a?context=main", `{"name": "A"}`)
	p.Stop()
}

// savesElsewhere makes a backup of a store whose disk takes no writes on another disk. The command
// reports that the store does not know of it.
func savesElsewhere(t *testing.T, store string) {
	t.Helper()
	target := filepath.Join(t.TempDir(), "saved.db")
	said := process.Fails(t, nil, "backup", target, "--store", store)
	process.Wants(t, said, target+": ", "the backup is complete; recording it in the store or removing older ones was not possible: ")
	process.Shuns(t, said, "failed")
	key := filepath.Join(filepath.Dir(service.SQLiteFile(store)), "marquee.key")
	process.Run(t, nil, "restore", target, "--store", "sqlite:"+filepath.Join(t.TempDir(), "marquee.db"), "--secret-key-file", key)
}
