//go:build linux || darwin

package mongodb

import (
	"os"
	"os/exec"
	"syscall"
)

// setApart puts a process into a group of its own, so that an interrupt at the
// terminal, or a signal to the whole group of the tests, is not for it.
func setApart(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func pause(process *os.Process) error  { return process.Signal(syscall.SIGSTOP) }
func resume(process *os.Process) error { return process.Signal(syscall.SIGCONT) }

// free returns the number of bytes that can be written below a folder.
func free(folder string) uint64 {
	var stat syscall.Statfs_t
	if syscall.Statfs(folder, &stat) != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}
