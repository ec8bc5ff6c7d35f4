package faultydisk

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// argument makes Enter run another program on a disk.
const argument = "-run-on-a-faulty-disk"

// Enter becomes the program of Disk.Command, if that is what the process was started
// for. Otherwise it does nothing.
func Enter() {
	if len(os.Args) < 4 || os.Args[1] != argument {
		return
	}
	err := enter(os.Args[2], os.Args[3:])
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func enter(socket string, command []string) error {
	program, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	connection, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the only thread that remains, and the one that is filtered
	calls, err := filter()
	if err != nil {
		return err
	}
	if _, _, err := connection.WriteMsgUnix([]byte{0}, unix.UnixRights(calls), nil); err != nil {
		return err
	}
	return unix.Exec(program, command, os.Environ())
}

// filter lets another process decide about the system calls of this thread that are
// asked for, and returns the file by which it does.
func filter() (int, error) {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // the number of the system call
	for i, number := range asked {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(number), Jt: uint8(len(asked) - i)})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	calls, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})))
	if errno != 0 {
		return 0, errors.Join(errors.New("system calls cannot be filtered"), errno)
	}
	return int(calls), nil
}
