//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// setApart gives a process a group of its own, with the processes that it starts.
func setApart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// end ends the group of a process, which has not been waited for.
func end(command *exec.Cmd, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-command.Process.Pid, signal) // may have ended
}
