package program

import (
	"bytes"
	"net/http"
	"syscall"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
	"marquee/resources/asset/assettest"
)

// TestTemporaryFolderFull serves with a temporary folder that is full, and then
// read-only: large uploads are refused as such, and all else goes on.
func TestTemporaryFolderFull(t *testing.T) {
	folder := smallDisk(t, "2m")
	p := process.ServeWith(t, service.NewSQLite(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + process.Password, "TMPDIR=" + folder},
		"--spool-budget", "1000000000", "--private-addr", "127.0.0.1:0")
	p.Creative()
	send := func(size int) *service.Answer {
		t.Helper()
		contentType, body := service.Form("a.png", append(assettest.PNG(1, 1), make([]byte, size)...))
		a, err := p.Post("a", contentType, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	refused := func(size int) {
		t.Helper()
		if a := send(size); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !bytes.Contains(a.Body, []byte("error.spool.full")) {
			t.Errorf("%d: %s", a.Status, a.Body)
		}
	}
	refused(4 << 20)
	handbook(t, "Full spool").shows(p, p.Private())
	if a := send(500_000); a.Status != http.StatusCreated {
		t.Errorf("what there is room for: %d: %s", a.Status, a.Body)
	}
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	if a := send(4 << 20); a.Status != http.StatusCreated && a.Status != http.StatusOK {
		t.Errorf("on a larger disk: %d: %s", a.Status, a.Body)
	}
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	refused(500_001)
	p.Ask(http.StatusOK, http.MethodGet, "/api/v1/assets/c?context=main", "")
	p.Stop()
	for _, cause := range []string{"there is no room for", "read-only file system"} {
		process.Wants(t, p.Stderr.String(), cause)
	}
}
