package siege

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"marquee/integration/process"
	"marquee/integration/service"
)

// TestSiegeWithinLimit sends all attacks to a process that is ended by the system
// when it takes more than 512 MiB, as a container of that size is.
func TestSiegeWithinLimit(t *testing.T) {
	process.Measures(t)
	limited := memoryLimit(t, 512<<20)
	newSiege(t, service.NewSQLite(t), limited).endure(450<<20, attacks...)
}

// memoryLimit makes a control group of so many bytes of memory, and returns what
// starts a command in it.
func memoryLimit(t *testing.T, bytes int64) func(*exec.Cmd) {
	t.Helper()
	for _, version := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max"},
	} {
		folder := filepath.Join(version.root, fmt.Sprintf("marquee-test-%d", os.Getpid()))
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(folder) }) // empty when the process has ended
		if os.WriteFile(filepath.Join(folder, version.limit), []byte(fmt.Sprint(bytes)), 0o644) != nil {
			continue
		}
		return func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(folder, "cgroup.procs"), cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
		}
	}
	t.Skip("the memory of a process can be limited by root on Linux, in a control group")
	return nil
}
