package integration

import (
	"bytes"
	"errors"
	"net/http"
	"syscall"
	"testing"

	"marquee/resources/asset/assettest"
)

// TestTemporaryFolderFull serves with a temporary folder that is full, and then
// read-only: large uploads are refused as such, and all else goes on.
func TestTemporaryFolderFull(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=2m"); errors.Is(err, syscall.EPERM) {
		t.Skip("only root may mount a small file system")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, 0); err != nil {
			t.Error(err)
		}
	})
	p := procServeWith(t, newSQLite(t), []string{"MARQUEE_BOOTSTRAP_PASSWORD=" + procPassword, "TMPDIR=" + folder}, "--spool-budget", "1000000000")
	p.creative()
	send := func(size int) *answer {
		t.Helper()
		contentType, body := form("a.png", append(assettest.PNG(1, 1), make([]byte, size)...))
		a, err := p.post("a", contentType, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	refused := func(size int) {
		t.Helper()
		if a := send(size); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !bytes.Contains(a.body, []byte("error.spool.full")) {
			t.Errorf("%d: %s", a.status, a.body)
		}
	}
	refused(4 << 20)
	if a := send(500_000); a.status != http.StatusCreated {
		t.Errorf("what there is room for: %d: %s", a.status, a.body)
	}
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	refused(500_001)
	p.ask(http.StatusOK, http.MethodGet, "/api/v1/assets/c?context=main", "")
	p.stop()
	for _, cause := range []string{"there is no room for", "read-only file system"} {
		procWants(t, p.stderr.String(), cause)
	}
}
