package program

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"marquee/integration/faultydisk"
	"marquee/integration/process"
)

// TestCopyToFailingDisk: while the disk of an SQLite target fails in each way, or is full, at the
// beginning of a copy or in its middle, the copy is refused with the reason. The target is no
// store, and is completed when the disk works again.
func TestCopyToFailingDisk(t *testing.T) {
	process.SkipLong(t)
	t.Parallel()
	from, source := sqliteStore(t)
	process.Serve(t, from).Stop()
	fillForCopy(t, from)
	process.Run(t, nil, "check", "--store", from) // which empties the log
	before := contentOf(t, source)
	// fails copies to a disk that fails at once, and to one that fails later, and completes the
	// copy on one that works.
	fails := func(t *testing.T, to string, command func(*exec.Cmd) *exec.Cmd, soon, later, works func(), reason string) {
		copies := func() *exec.Cmd { return command(process.Command(t, nil, "copy", "--from", from, "--to", to)) }
		soon()
		process.Wants(t, process.Refused(t, copies()), "nothing was copied", reason)
		works()
		process.Wants(t, process.Fails(t, nil, "check", "--store", to), "there is no store at")
		running := process.Launch(t, copies())
		running.Stderr.Await(t, 0, func(line string) bool { return strings.HasPrefix(line, "copying crash_tickets") })
		later()
		running.Ends(1)
		process.Wants(t, running.Printed(), "run the same command again to continue", reason)
		works()
		process.Wants(t, process.Fails(t, nil, "check", "--store", to), "it is an incomplete copy of another store")
		process.Wants(t, process.Run(t, nil, "copy", "--from", from, "--to", to), "the digests of both stores agree")
		process.Wants(t, process.Run(t, nil, "check", "--store", to), "nothing is wrong")
		if !maps.Equal(before, contentOf(t, source)) {
			t.Error("the source was changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(faultydisk.Faults)) {
		t.Run(name, func(t *testing.T) {
			to, folder := sqliteStore(t)
			disk := faultydisk.New(t, folder)
			fail := func() { disk.Fail(faultydisk.Faults[name]) }
			works := func() {
				if disk.Hits() == 0 {
					t.Error("the disk was not used")
				}
				disk.Fail(nil)
			}
			reason := "disk"
			if name == "read-only" {
				reason = "" // that the log can only be read, or the disk
			}
			fails(t, to, func(cmd *exec.Cmd) *exec.Cmd { return onDisk(disk, cmd) }, fail, fail, works, reason)
		})
	}
	t.Run("no space", func(t *testing.T) {
		folder := smallDisk(t, "64m")
		filler := filepath.Join(folder, "filler")
		fill := func() {
			if err := os.WriteFile(filler, make([]byte, 65<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		free := func() {
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
		}
		fails(t, "sqlite:"+filepath.Join(folder, "marquee.db"), func(cmd *exec.Cmd) *exec.Cmd { return cmd }, fill, fill, free, "the disk is full")
	})
}
