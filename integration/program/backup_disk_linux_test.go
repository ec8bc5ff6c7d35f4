package program

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"marquee/integration/faultydisk"
	"marquee/integration/process"
)

// onDisk runs a command on a disk.
func onDisk(disk *faultydisk.Disk, cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = disk.Command(append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = cmd.Args[0]
	return cmd
}

// TestBackupOnFailingDisk: while the disk of the backups fails in each way, a backup fails with
// the reason, the one before stays as it is, and the store is written to; while the disk of the
// store fails, so does a restore, and the store stays as it is.
func TestBackupOnFailingDisk(t *testing.T) {
	process.SkipCoveredBy(t, "'make crash'")
	uri, folder := sqliteStore(t)
	at, place := []string{"--store", uri}, t.TempDir()
	disk := faultydisk.New(t, place)
	p := process.Launch(t, onDisk(disk, process.Command(t, []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password},
		"serve", "--addr", "127.0.0.1:0", "--log-format", "json", "--store", uri)))
	p.Listens()
	p.SignIn("admin", process.Password)
	target := filepath.Join(place, "copy.db")
	backup := append([]string{"backup", target, "--quiet"}, at...)
	process.Run(t, nil, backup...)
	before := contentOf(t, place)
	for _, name := range slices.Sorted(maps.Keys(faultydisk.Faults)) {
		disk.Fail(faultydisk.Faults[name])
		said := process.Fails(t, nil, backup...)
		process.Wants(t, said, "the backup failed: ")
		process.Shuns(t, said, "sqlite3", "IOERR")
		p.Ask(http.StatusCreated, http.MethodPost, "/api/v1/advertisers/"+name+"?context=main", `{"name": "N"}`)
		p.Ask(http.StatusOK, http.MethodGet, "/readyz", "")
		if disk.Hits() == 0 {
			t.Errorf("%s: the disk was not used", name)
		}
		disk.Fail(nil)
		if !maps.Equal(before, contentOf(t, place)) {
			t.Errorf("%s: the folder has %v", name, slices.Sorted(maps.Keys(contentOf(t, place))))
		}
	}
	process.Run(t, nil, backup...)
	p.Stop()

	disk = faultydisk.New(t, folder)
	restore := append([]string{"restore", target, "--force", "--quiet"}, at...)
	before = contentOf(t, folder)
	for _, name := range slices.Sorted(maps.Keys(faultydisk.Faults)) {
		disk.Fail(faultydisk.Faults[name])
		cmd := onDisk(disk, process.Command(t, nil, restore...))
		process.Wants(t, process.Refused(t, cmd), "nothing was restored to ")
		if disk.Hits() == 0 {
			t.Errorf("%s: the disk was not used", name)
		}
		disk.Fail(nil)
		if !maps.Equal(before, contentOf(t, folder)) {
			t.Errorf("%s: the folder has %v", name, slices.Sorted(maps.Keys(contentOf(t, folder))))
		}
	}
	process.Run(t, nil, restore...)
	process.Wants(t, process.Run(t, nil, append([]string{"check"}, at...)...), "nothing is wrong")
}

// TestBackupWithoutRoom: that the disk has no room is found before the copy begins.
func TestBackupWithoutRoom(t *testing.T) {
	process.SkipLong(t)
	uri, _ := sqliteStore(t)
	at, place := []string{"--store", uri}, smallDisk(t, "4m")
	p := process.Serve(t, uri)
	process.Run(t, nil, append([]string{"backup", place}, at...)...)
	before := contentOf(t, place)
	for _, target := range []string{place, filepath.Join(place, "copy.db")} {
		said := process.Fails(t, nil, append([]string{"backup", target}, at...)...)
		process.Wants(t, said, "the copy takes ", " are free")
		process.Shuns(t, said, "copying")
	}
	if !maps.Equal(before, contentOf(t, place)) {
		t.Errorf("the folder has %v", slices.Sorted(maps.Keys(contentOf(t, place))))
	}
	p.Stop()
	for name := range before {
		if strings.HasSuffix(name, ".db") {
			said := process.Fails(t, nil, "restore", filepath.Join(place, name), "--store", "sqlite:"+filepath.Join(place, "drill.db"))
			process.Wants(t, said, "the backup takes ", " are free")
		}
	}
	if err := os.Remove(filepath.Join(place, "drill.db")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
