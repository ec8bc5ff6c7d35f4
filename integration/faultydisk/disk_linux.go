// Package faultydisk runs programs on a disk that fails on demand: system calls that
// write below a folder return errors. It needs no rights, and no help of the program:
// the kernel asks the test about each of these calls (seccomp_unotify(2)).
//
// A program that uses it calls Enter at the beginning of its TestMain.
package faultydisk

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Fault is a way in which a disk fails.
type Fault map[int]unix.Errno // by system call

// The faults, by name.
var Faults = map[string]Fault{
	"fsync":     {unix.SYS_FSYNC: unix.EIO, unix.SYS_FDATASYNC: unix.EIO},
	"write":     {unix.SYS_PWRITE64: unix.EIO},
	"full":      {unix.SYS_PWRITE64: unix.ENOSPC, unix.SYS_FALLOCATE: unix.ENOSPC},
	"read-only": {unix.SYS_PWRITE64: unix.EROFS, unix.SYS_FALLOCATE: unix.EROFS, unix.SYS_FTRUNCATE: unix.EROFS},
}

// asked are the system calls that can fail.
var asked = []int{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_PWRITE64, unix.SYS_FALLOCATE, unix.SYS_FTRUNCATE}

// Disk is what programs see below a folder.
type Disk struct {
	tb      testing.TB
	folder  string
	socket  *net.UnixListener
	serving sync.WaitGroup

	mu    sync.Mutex
	fault Fault
	hits  int
}

// New returns a disk that works. It skips the test where the kernel does not support it.
func New(tb testing.TB, folder string) *Disk {
	tb.Helper()
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(new([3]uint16)))); errno != 0 {
		tb.Skipf("the kernel does not let a test decide about system calls: %v", errno)
	}
	place, err := os.MkdirTemp("", "disk-") // the name of a socket is short
	if err != nil {
		tb.Fatal(err)
	}
	d := &Disk{tb: tb, folder: folder}
	if d.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(place, "socket"), Net: "unix"}); err != nil {
		tb.Fatal(err)
	}
	d.serving.Go(d.accept)
	tb.Cleanup(func() {
		d.socket.Close()
		d.serving.Wait() // for the end of the programs
		os.RemoveAll(place)
	})
	return d
}

// Command returns the command line of a program on this disk.
func (d *Disk) Command(command ...string) []string {
	self, err := os.Executable()
	if err != nil {
		d.tb.Fatal(err)
	}
	return append([]string{self, argument, d.socket.Addr().String()}, command...)
}

// Fail makes the disk fail, or work again if the fault is nil.
func (d *Disk) Fail(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.hits = f, 0
}

// Hits returns the number of system calls that the current fault has failed.
func (d *Disk) Hits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hits
}

// accept serves each program that enters the disk.
func (d *Disk) accept() {
	for {
		connection, err := d.socket.AcceptUnix()
		if err != nil {
			return
		}
		calls, err := receive(connection)
		connection.Close()
		if err != nil {
			d.tb.Errorf("a program cannot enter the disk: %v", err)
			continue
		}
		d.serving.Go(func() {
			defer unix.Close(calls)
			if err := d.serve(calls); err != nil {
				d.tb.Errorf("the disk of a program has gone: %v", err)
			}
		})
	}
}

func receive(connection *net.UnixConn) (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	if _, _, _, _, err := connection.ReadMsgUnix(make([]byte, 1), control); err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d messages", len(messages)))
	}
	passed, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(passed) != 1 {
		return 0, errors.Join(err, fmt.Errorf("%d files", len(passed)))
	}
	return passed[0], nil
}

// call and decision are struct seccomp_notif and struct seccomp_notif_resp.
type call struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type decision struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// serve decides about the system calls of a program until it ends.
func (d *Disk) serve(calls int) error {
	for {
		poll := []unix.PollFd{{Fd: int32(calls), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return nil
		}
		var c call
		if errno := control(calls, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&c)); errno == unix.ENOENT || errno == unix.EINTR {
			continue // the caller was killed
		} else if errno != 0 {
			return errno
		}
		answer := decision{id: c.id, errno: -int32(d.decide(&c))}
		if answer.errno == 0 {
			answer.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
		if errno := control(calls, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer)); errno != 0 && errno != unix.ENOENT {
			return errno
		}
	}
}

func control(fd int, request uint, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(argument))
	return errno
}

// decide returns the error of a system call, 0 if it is to be made.
func (d *Disk) decide(c *call) unix.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	errno, fails := d.fault[int(c.number)]
	if !fails {
		return 0
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.pid, int32(c.args[0])))
	if err != nil || !strings.HasPrefix(path, d.folder+"/") {
		return 0
	}
	d.hits++
	return errno
}
