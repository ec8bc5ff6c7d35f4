package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"marquee/integration/installed"
	"marquee/integration/process"
)

// TestSystemdUnits: systemd accepts the units of deploy/systemd, and rates the hardening of
// the services below 1.5 of 10.
func TestSystemdUnits(t *testing.T) {
	t.Parallel()
	installed.Suite("systemd").Need(t, "install the package systemd of Debian", "systemd-analyze")
	dir := t.TempDir()
	files, err := filepath.Glob("../../deploy/systemd/*")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d units: %v", len(files), err)
	}
	analyze := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	verify := []string{"verify"}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The program that a unit starts must be there.
		unit := process.File(t, filepath.Join(dir, filepath.Base(file)), strings.ReplaceAll(string(text), "/usr/local/bin/marquee", process.Command(t, nil).Path))
		verify = append(verify, unit)
		if filepath.Ext(unit) == ".service" {
			analyze("security", "--offline=true", "--threshold=15", "--no-pager", unit)
		}
	}
	if out := analyze(verify...); out != "" { // such as settings that systemd does not know
		t.Error(out)
	}
}
